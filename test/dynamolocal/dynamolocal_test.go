package dynamolocal_test

import (
	"net/http"
	"testing"

	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

func TestEmulatorAnswersUntilTestEnds(t *testing.T) {
	var endpoint string
	t.Run("while it runs", func(t *testing.T) {
		endpoint = dynamolocal.Start(t)
		answer, err := http.Get(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.Header.Get("X-Amzn-Requestid") == "" {
			t.Errorf("got headers %v, want those of the service", answer.Header)
		}
	})
	if answer, err := http.Get(endpoint); err == nil {
		answer.Body.Close()
		t.Error("the emulator still answers, want it to have ended")
	}
}
