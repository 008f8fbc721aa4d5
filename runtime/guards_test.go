package runtime_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tidelock-lua/tidelock/runtime"
)

func TestTheTextOfAnErrorHasALargestSize(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *house) {
		for _, raise := range []string{`error(("x"):rep(1e6), 0)`, `error({ message = ("x"):rep(1e6) })`} {
			r := h.Run(t, "a", raise)
			if r.Error == nil || len(r.Error.Message) > 9<<10 || !strings.HasSuffix(r.Error.Message, "...") {
				t.Errorf("%s: got %.100v", raise, r.Error)
			}
		}
	})
}

func TestNoModuleIsOutsideOfItsFolder(t *testing.T) {
	secrets := readsAll{}
	for _, name := range []string{"../secret", "/etc/passwd", "a/../../b", "..", "a..b", ".a", "a.", "", "a\\b", "a%00", "a b", strings.Repeat("x", 300)} {
		inFakeTime(t, func(t *testing.T, h *house) {
			r := h.Invoke(t.Context(), runtime.Invocation{Tenant: "a", Script: "test.lua", Scripts: []fs.FS{secrets},
				Source: `return require("` + strings.ReplaceAll(name, `\`, `\\`) + `")`})
			if r.Error == nil || !strings.Contains(r.Error.Message, "not found") {
				t.Errorf("%q: got %s%v, want that it isn't found", name, r.JSON, r.Error)
			}
		})
	}
}

// readsAll is a file system that has every file.
type readsAll struct{}

func (readsAll) Open(string) (fs.File, error) {
	return fstest.MapFS{"x": {Data: []byte("return 1")}}.Open("x")
}
