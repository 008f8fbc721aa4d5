// Package nativetest runs scripts against native modules as a host does, in the
// fake time of [testing/synctest]: a script that waits for the end of a lease of
// 30 s is over in milliseconds. [Scripts] runs the files in testdata, [Docs] the
// examples of a page, and [New] makes a [Machine] for tests in Go.
package nativetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/module/logmodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Open makes the modules under test. It is called inside the bubble; clk tells
// the time there.
type Open func(t *testing.T, clk *clock.Dual) []native.Module

// Machine stands for a process that runs scripts in fake time. Several machines
// in one bubble are like several processes.
type Machine struct {
	Clock  *clock.Dual
	Log    *Log
	engine *runtime.Engine
}

// New makes a machine with the modules under test, if open isn't nil, and with
// deadline, json, log and the functions directly in native. It must be called
// inside a bubble.
func New(t *testing.T, open Open) *Machine {
	t.Helper()
	m := &Machine{Clock: clock.NewDual(clock.System()), Log: &Log{}}
	modules := []native.Module{coremodule.New(), deadlinemodule.New(), jsonmodule.New(), logmodule.New()}
	if open != nil {
		modules = append(modules, open(t, m.Clock)...)
	}
	m.engine = runtime.New(runtime.Config{
		Clock: m.Clock, Modules: modules, HostKind: "test", HostName: "testhost",
		Yield: func() { time.Sleep(time.Millisecond) },
	})
	return m
}

// Run runs source as a script of a tenant.
func (m *Machine) Run(t *testing.T, id tenant.ID, source string) *runtime.Result {
	t.Helper()
	return m.Invoke(t.Context(), runtime.Invocation{Tenant: id, Script: "test.lua", Source: source})
}

// Invoke runs an invocation with the machine's log.
func (m *Machine) Invoke(ctx context.Context, inv runtime.Invocation) *runtime.Result {
	inv.Log = m.Log
	return m.engine.Run(ctx, inv)
}

// Expect runs source as a script of tenant "a" and fails the test unless its
// result as JSON is want.
func (m *Machine) Expect(t *testing.T, want, source string) {
	t.Helper()
	r := m.Run(t, "a", source)
	if r.Error != nil {
		t.Errorf("%v\n%s", r.Error, source)
	} else if string(r.JSON) != want {
		t.Errorf("got %s, want %s\n%s", r.JSON, want, source)
	}
}

// Scripts runs each testdata/*.lua of the package under test as a subtest, on a
// machine in a bubble of its own. A script fails its test by an error.
func Scripts(t *testing.T, open Open) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata/*.lua: %v", err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		run(t, filepath.Base(file), string(source), open)
	}
}

// Docs runs each block of Lua on a page of documentation as a script of its own.
func Docs(t *testing.T, page string, open Open) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```lua\n")[1:]
	if len(blocks) == 0 {
		t.Fatalf("no example on %s", page)
	}
	for _, block := range blocks {
		source, _, closed := strings.Cut(block, "\n```")
		if !closed {
			t.Fatalf("a block of Lua on %s has no end", page)
		}
		first, _, _ := strings.Cut(source, "\n")
		run(t, first, source, open)
	}
}

func run(t *testing.T, name, source string, open Open) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := New(t, open)
			r := m.Invoke(t.Context(), runtime.Invocation{
				Tenant: "a", Script: name, Source: source, Limits: tenant.Limits{Timeout: time.Hour},
			})
			if r.Error != nil {
				t.Errorf("%v\n%+v\n%s", r.Error, r.Error.Stack, m.Log)
			}
			for _, incident := range r.Incidents {
				t.Error(incident)
			}
		})
	})
}

// Log records what scripts log.
type Log struct {
	mu      sync.Mutex // guards records
	records []string
}

// Log adds a record: "level message".
func (l *Log) Log(level, message string, _ value.Map) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, level+" "+message)
}

// String returns all records, a line each.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.records, "\n")
}
