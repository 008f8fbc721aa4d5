package runtime_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// FuzzDataPassesThroughLua runs a script that returns its event: the data must
// be as they were.
func FuzzDataPassesThroughLua(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,2,{"b":[]}],"c":{},"d":null,"":"\u0000"}`, `[]`, `[[],{},null]`, `1e300`, `-0.5`, `"\ud83d\ude00"`,
		`{"1":1,"n":2}`, `[null,null,1]`, `true`, `12345678901234567890`,
	} {
		f.Add(text)
	}
	engine := runtime.New(runtime.Config{Modules: []native.Module{coremodule.New()}})
	f.Fuzz(func(t *testing.T, text string) {
		event, err := json.Decode([]byte(text))
		if err != nil {
			return
		}
		if event == (value.Null{}) {
			event = nil
		}
		want, err := json.Encode(event, "event", 1<<20)
		r := engine.Run(t.Context(), runtime.Invocation{Tenant: "a", Script: "echo.lua", Log: discard{},
			Source: "return function(event) return event end", Event: event, Limits: tenant.Limits{ResultBytes: 1 << 20}})
		switch {
		case r.Error != nil && strings.Contains(r.Error.Message, "a key that is empty"):
			// An event may have one, a result may not.
			if !strings.Contains(text, `""`) {
				t.Errorf("%q: got %v", text, r.Error)
			}
		case err != nil && r.Error == nil:
			t.Errorf("%q: got %s, want %v", text, r.JSON, err)
		case err == nil && !bytes.Equal(r.JSON, want):
			t.Errorf("%q: got %s%v, want %s", text, r.JSON, r.Error, want)
		}
	})
}

// FuzzNoSourceLeavesItsRun runs any text as a script: it must end by itself, with
// one of the errors of scripts.
func FuzzNoSourceLeavesItsRun(f *testing.F) {
	files, err := filepath.Glob("../test/exploits/testdata/*.lua")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	engine := runtime.New(runtime.Config{Modules: []native.Module{coremodule.New()}, Memory: vm.NewMemoryWatcher(0)})
	// The fuzzer reports an input that takes 10 s as a deadlock.
	limits := tenant.Limits{Timeout: 5 * time.Second, Instructions: 200_000, MemoryBytes: 16 << 20}
	f.Fuzz(func(t *testing.T, source string) {
		r := engine.Run(t.Context(), runtime.Invocation{Tenant: "a", Script: "fuzz.lua", Source: source, Log: discard{}, Limits: limits})
		if len(r.Incidents) > 0 {
			t.Errorf("%v", r.Incidents)
		}
		if r.Error == nil {
			return
		}
		switch r.Error.Type {
		case runtime.SyntaxError, runtime.RuntimeError, runtime.Raised, runtime.LimitExceeded, runtime.Timeout, runtime.NotSerializable, runtime.ResultTooLarge:
		default:
			t.Errorf("it ended with %v", r.Error)
		}
		if text := r.Error.Message; strings.Contains(text, "runtime error") && !strings.Contains(source, "runtime error") {
			t.Errorf("it shows internals of Go: %s", text)
		}
	})
}

// discard drops what scripts log.
type discard struct{}

func (discard) Log(string, string, value.Map) {}
