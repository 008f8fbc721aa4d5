package runtime_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
)

// failingFolder fails to open anything.
type failingFolder struct{ err error }

func (f failingFolder) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "openat", Path: name, Err: f.err}
}

// A script is not found only if there is none. What can't be opened now is the
// host's failure, may succeed later, and its cause is for the log alone.
func TestScriptsThatCanNotBeOpened(t *testing.T) {
	for _, test := range []struct {
		err       error
		kind      runtime.ErrorType
		retryable bool
	}{
		{fs.ErrNotExist, runtime.ScriptNotFound, false},
		{syscall.ENOENT, runtime.ScriptNotFound, false},
		{syscall.ENOTDIR, runtime.ScriptNotFound, false},
		{syscall.ENAMETOOLONG, runtime.ScriptNotFound, false},
		{syscall.EISDIR, runtime.ScriptNotFound, false},
		{syscall.EMFILE, runtime.HostInternal, true},
		{syscall.ENFILE, runtime.HostInternal, true},
		{syscall.EACCES, runtime.HostInternal, true},
		{syscall.EPERM, runtime.HostInternal, true},
		{syscall.EIO, runtime.HostInternal, true},
		{syscall.ELOOP, runtime.HostInternal, true},
		{syscall.ESTALE, runtime.HostInternal, true},
		{errors.New("its folder can't be opened"), runtime.HostInternal, true},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			d := runtime.Directory{"acme": {ID: "acme", Scripts: []fs.FS{failingFolder{test.err}}}}
			_, failed := d.Resolve("acme", "job", nil)
			if failed == nil || failed.Type != test.kind || failed.Retryable != test.retryable {
				t.Fatalf("got %+v, want %s", failed, test.kind)
			}
			if failed.Type == runtime.HostInternal && !errors.Is(failed.Cause, test.err) || strings.Contains(failed.Message, test.err.Error()) {
				t.Errorf("got the message %q and the cause %v", failed.Message, failed.Cause)
			}
			inFakeTime(t, func(t *testing.T, h *harness) {
				r := h.Invoke(t.Context(), runtime.Invocation{Tenant: "a", Script: "test.lua", Scripts: []fs.FS{failingFolder{test.err}},
					Source: `local ok, e = pcall(require, "lib.x") return "went on: " .. tostring(e)`})
				switch {
				case test.kind == runtime.ScriptNotFound && (r.Error != nil || !strings.Contains(string(r.JSON), "not found")):
					t.Errorf("require: got %s, %v", r.JSON, r.Error)
				case test.kind == runtime.HostInternal && (r.Error == nil || r.Error.Type != test.kind || !r.Error.Retryable || !errors.Is(r.Error.Cause, test.err)):
					t.Errorf("require: got %s, %+v; want %s", r.JSON, r.Error, test.kind)
				}
			})
		})
	}
}

// Each way to deploy a folder anew is followed.
func TestFolderIsFollowedWhenItIsReplaced(t *testing.T) {
	dir := t.TempDir()
	write := func(folder, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, folder), 0o700), os.WriteFile(filepath.Join(dir, folder, "job.lua"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("one", "return 1")
	write("two", "return 2")
	current := filepath.Join(dir, "current")
	if err := os.Symlink("one", current); err != nil {
		t.Fatal(err)
	}
	d := runtime.Directory{"acme": {ID: "acme", Scripts: []fs.FS{runtime.Folder(current)}}}
	want := func(source string) {
		t.Helper()
		if inv, failed := d.Resolve("acme", "job", nil); failed != nil || inv.Source != source {
			t.Errorf("got %+v, %v; want %s", inv, failed, source)
		}
	}
	want("return 1")
	next := filepath.Join(dir, "next")
	if err := errors.Join(os.Symlink("two", next), os.Rename(next, current)); err != nil {
		t.Fatal(err)
	}
	want("return 2")

	d["acme"] = runtime.Tenant{ID: "acme", Scripts: []fs.FS{runtime.Folder(filepath.Join(dir, "one"))}}
	want("return 1")
	if err := os.Rename(filepath.Join(dir, "one"), filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	if _, failed := d.Resolve("acme", "job", nil); failed == nil || failed.Type != runtime.HostInternal || !failed.Retryable {
		t.Errorf("a folder that is away: got %v", failed)
	}
	write("one", "return 3")
	want("return 3")
	if err := os.Symlink("../one/job.lua", filepath.Join(dir, "two", "out.lua")); err != nil {
		t.Fatal(err)
	}
	d["acme"] = runtime.Tenant{ID: "acme", Scripts: []fs.FS{runtime.Folder(filepath.Join(dir, "two"))}}
	if _, failed := d.Resolve("acme", "out", nil); failed == nil || failed.Type != runtime.ScriptNotFound || failed.Cause == nil {
		t.Errorf("a link that leads out: got %+v", failed)
	}
}

// A pipe that nothing writes would keep a thread of the process for each run.
func TestPipeInAFolderIsNoScript(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "job.lua"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := runtime.Folder(dir).Open("job.lua")
		opened <- err
	}()
	select {
	case err := <-opened:
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("got %v, want an error", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("opening it doesn't end")
	}
	d := runtime.Directory{"acme": {ID: "acme", Scripts: []fs.FS{runtime.Folder(dir)}}}
	if _, failed := d.Resolve("acme", "job", nil); failed == nil || failed.Type != runtime.ScriptNotFound || failed.Cause == nil {
		t.Errorf("got %+v, want that there is no such script, with a cause", failed)
	}
}
