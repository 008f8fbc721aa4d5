package lualib

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// documented matches a row of the table in docs/language.md that says what an
// expression is here and in lua5.1.
var documented = regexp.MustCompile("(?m)^  \\| `(.+)` \\| `(.+)` \\| `(.+)` \\|$")

func TestDocumentedDifferencesAreTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := documented.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 5 {
		t.Fatalf("found %d rows", len(rows))
	}
	run := newRun(t, vm.Limits{})
	for _, row := range rows {
		expression, here, there := row[1], row[2], row[3]
		if got := do(t, run, "return tostring("+expression+")"); got != `"`+here+`"` {
			t.Errorf("%s is %s, documented is %s", expression, got, here)
		}
		out, err := exec.CommandContext(t.Context(), "lua5.1", "-e", "io.write(tostring("+expression+"))").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Replace(string(out), "-nan", "nan", 1); got != there { // C's sign of NaN
			t.Errorf("%s is %s in lua5.1, documented is %s", expression, got, there)
		}
	}
}
