package runtime_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tidelock-lua/tidelock/runtime"
)

func TestRequireStaysInItsFolders(t *testing.T) {
	for _, name := range []string{"../secret", "/etc/passwd", "a/../../b", "..", "a..b", ".a", "a.", "", "a\\b", "a%00", "a b", strings.Repeat("x", 300)} {
		inFakeTime(t, func(t *testing.T, h *harness) {
			r := h.Invoke(t.Context(), runtime.Invocation{Tenant: "a", Script: "test.lua", Scripts: []fs.FS{anyFile{}},
				Source: `return require("` + strings.ReplaceAll(name, `\`, `\\`) + `")`})
			if r.Error == nil || !strings.Contains(r.Error.Message, "not found") {
				t.Errorf("%q: got %s%v, want that it isn't found", name, r.JSON, r.Error)
			}
		})
	}
}

// anyFile is a file system that has every file.
type anyFile struct{}

func (anyFile) Open(string) (fs.File, error) {
	return fstest.MapFS{"x": {Data: []byte("return 1")}}.Open("x")
}
