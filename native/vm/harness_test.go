package vm

import (
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// machine is a run with the functions that the tests' scripts need.
type machine struct {
	*Run
	t testing.TB
}

// start makes a run in fake time: each safepoint poll lets 1 ms pass.
func start(t testing.TB, cfg Config) *machine {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = clock.NewDual(clock.System())
	}
	if cfg.Yield == nil {
		cfg.Yield = func() { time.Sleep(time.Millisecond) }
	}
	m := &machine{NewRun(cfg), t}
	t.Cleanup(m.Close)
	g := m.Globals()
	L := m.Thread()
	lua.OpenBase(L)
	lua.OpenString(L)
	lua.OpenTable(L)
	for name, fn := range functions {
		g.RawSetString(name, NewFunction(fn))
	}
	co := L.NewTable()
	for _, name := range []string{"create", "resume", "yield", "status", "running"} {
		co.RawSetString(name, g.RawGetString("co_"+name))
	}
	g.RawSetString("coroutine", co)
	return m
}

var functions = map[string]lua.LGFunction{
	"pcall": func(L *lua.LState) int {
		L.Insert(lua.LTrue, 1)
		n, err := Of(L).PCall(L, 2, L.GetTop()-2)
		if err != nil {
			L.Push(lua.LFalse)
			L.Push(err)
			return 2
		}
		L.Insert(lua.LTrue, L.GetTop()-n+1)
		return n + 1
	},
	"xpcall": func(L *lua.LState) int {
		n, err := Of(L).XPCall(L, 1, 0, L.Get(2))
		if err != nil {
			L.Push(lua.LFalse)
			L.Push(err)
			return 2
		}
		L.Insert(lua.LTrue, L.GetTop()-n+1)
		return n + 1
	},
	"with": func(L *lua.LState) int {
		r := Of(L)
		at := r.Clock().ElapsedMax() + time.Duration(L.CheckNumber(1))*time.Millisecond
		return r.Within(L, at, 2, L.GetTop()-2).Finish(L)
	},
	"co_create": func(L *lua.LState) int {
		L.Push(Of(L).NewCoroutine(L.CheckFunction(1)))
		return 1
	},
	"co_resume": func(L *lua.LState) int {
		n, err := Of(L).Resume(L, L.CheckThread(1), 2, L.GetTop()-1)
		if err != nil {
			L.Push(lua.LFalse)
			L.Push(err)
			return 2
		}
		L.Insert(lua.LTrue, L.GetTop()-n+1)
		return n + 1
	},
	"co_yield":  func(L *lua.LState) int { return Of(L).Yield(L, L.GetTop()) },
	"co_status": func(L *lua.LState) int { L.Push(lua.LString(CoroutineStatus(L.CheckThread(1)))); return 1 },
	"co_running": func(L *lua.LState) int {
		if h := Of(L).RunningCoroutine(); h != nil {
			L.Push(h)
			return 1
		}
		return 0
	},
	"panics": func(*lua.LState) int { panic("secret") },
	"call":   func(L *lua.LState) int { L.Push(L.Get(1)); L.Call(0, 1); return 1 },
	"steps":  func(L *lua.LState) int { Of(L).Step(L.CheckInt(1)); return 0 },
	"check":  func(L *lua.LState) int { Of(L).CheckInterrupt(); return 0 },
}

// do runs source and returns its first result, or the error.
func (m *machine) do(source string) (lua.LValue, error) {
	m.t.Helper()
	L := m.Thread()
	fn, err := L.Load(strings.NewReader(source), "test")
	if err != nil {
		m.t.Fatal(err)
	}
	t, failure := m.Call(fn)
	if failure != nil {
		return nil, failure
	}
	return t, nil
}

// expect runs source and compares its result, as text.
func (m *machine) expect(want, source string) {
	m.t.Helper()
	got, err := m.do(source)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, source)
	}
	if got.String() != want {
		m.t.Errorf("got %s, want %s\n%s", got, want, source)
	}
}

const spin = `local function spin() while true do end end `

// protected calls fn as a library function of the run.
func (m *machine) protected(fn func()) error {
	m.Globals().RawSetString("fn", NewFunction(func(*lua.LState) int { fn(); return 0 }))
	_, err := m.do(`fn()`)
	return err
}

// measured walks the machine and returns what it holds.
func (m *machine) measured() int64 {
	m.t.Helper()
	if m.measure(); m.interrupt != nil {
		m.t.Fatal(m.interrupt)
	}
	return m.memory.measured
}
