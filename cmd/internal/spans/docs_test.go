package spans

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDocumentationHasTheNumbersOfTheCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/lambda.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		fmt.Sprintf("`%s` is added to the endpoint unless it ends so", tracesPath),
		fmt.Sprintf("Status 429, 502, 503 and 504 are tried again, %d times in all", attemptsMax),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page doesn't say: %s", want)
		}
	}
	for status := range 600 {
		if status < 200 {
			continue
		}
		if got, want := repeats(status), strings.Contains("429 502 503 504", fmt.Sprint(status)); got != want {
			t.Errorf("status %d: repeated: %v, want %v", status, got, want)
		}
	}
}
