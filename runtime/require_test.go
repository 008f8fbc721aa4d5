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

func TestRequireSaysWhatWasTriedAndMeant(t *testing.T) {
	own := fstest.MapFS{"lib/orders.lua": {}, "util.lua": {}}
	shared := fstest.MapFS{"lib/shared.lua": {}}
	for _, test := range []struct {
		name  string
		roots []fs.FS
		want  string
	}{
		{"lib.ordrs", []fs.FS{own}, "the scripts' folder has no file lib/ordrs.lua, did you mean 'lib.orders'?"},
		{"lib.shred", []fs.FS{own, shared}, "none of the 2 folders of scripts has a file lib/shred.lua, did you mean 'lib.shared'?"},
		{"utl", []fs.FS{own}, "the scripts' folder has no file utl.lua, did you mean 'util'?"},
		{"nothing.like.it", []fs.FS{own}, "the scripts' folder has no file nothing/like/it.lua"},
		{"lib/orders", []fs.FS{own}, `names of modules have dots and no ending, write require("lib.orders")`},
		{"lib/orders.lua", []fs.FS{own}, `names of modules have dots and no ending, write require("lib.orders")`},
		{"./util", []fs.FS{own}, `names of modules have dots and no ending, write require("util")`},
		{"../util", []fs.FS{own}, "a name is made of letters, digits, _ and -, with dots for folders"},
		{"util", nil, "this run has no folder of scripts"},
	} {
		inFakeTime(t, func(t *testing.T, h *harness) {
			r := h.Invoke(t.Context(), runtime.Invocation{Tenant: "a", Script: "test.lua", Source: `require("` + test.name + `")`, Scripts: test.roots})
			want := "test.lua:1: module '" + test.name + "' not found: " + test.want
			if r.Error == nil || r.Error.Message != want {
				t.Errorf("got  %v\nwant %s", r.Error, want)
			}
		})
	}
}
