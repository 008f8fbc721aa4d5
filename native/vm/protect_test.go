package vm

import (
	"runtime"
	"strings"
	"testing"
)

func TestUpvaluesAreClosedByCaughtErrors(t *testing.T) {
	m := start(t, Config{})
	m.expect("1", `local x = 0; local function inc() x = x + 1 end; pcall(error); inc(); return x`)
	m.expect("orig", `
		local saved
		xpcall(function() local v = "orig"; saved = function() return v end; error("x") end, function() return 1 end)
		local function other() local a, b, c = 9, 9, 9; return a + b + c end
		xpcall(other, print); other()
		return saved()`)
	m.expect("5", `
		local get
		pcall(function() local v = 5; get = function() return v end; panics() end)
		pcall(function() local v = 6; return v end)
		return get()`)
}

func TestMessageHandlerSeesErrorsAndMayFail(t *testing.T) {
	m := start(t, Config{})
	m.expect("handled: boom", `return select(2, xpcall(function() error("boom", 0) end, function(e) return "handled: " .. e end))`)
	m.expect("false", `return (xpcall(function() error("boom") end, function() error("worse") end))`)
	m.expect("fine", `return select(2, pcall(function() return "fine" end))`)
}

func TestPanicNeverLeavesARun(t *testing.T) {
	for name, source := range map[string]string{
		"a Go panic":                      "panics()",
		"a full registry":                 `unpack({}, 1, 1e6)`,
		"a full registry under a handler": `local ok, err = xpcall(function() return unpack({}, 1, 1e6) end, function(e) return e end); error(err, 0)`,
		"growing varargs in a tail call":  `local function f(...) return f(1, ...) end f()`,
		"endless recursion":               `local function f() return 1 + f() end f()`,
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, Config{Yield: runtime.Gosched})
			m.expect("false", `return (pcall(function() `+source+` end))`)
			_, err := m.do(source)
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "goroutine") {
				t.Errorf("got %v", err)
			}
			if n := len(m.Incidents()); n > 0 && source != "panics()" {
				t.Errorf("%d incidents: %v", n, m.Incidents())
			}
		})
	}
}

func TestRecursionWithoutEndIsAnErrorOfTheScript(t *testing.T) {
	m := start(t, Config{})
	m.expect("true", `
		local function f() return 1 + f() end
		local ok, err = pcall(f)
		return not ok and err:find("stack overflow", 1, true) ~= nil`)
	m.expect("true", `
		local function f() return (("x"):gsub("x", f)) end
		local ok, err = pcall(f)
		return not ok and err:find("stack overflow", 1, true) ~= nil`)
	if n := len(m.Incidents()); n != 0 {
		t.Errorf("%d incidents: %v", n, m.Incidents())
	}
}

func TestErrorShowsNoHeapAddress(t *testing.T) {
	m := start(t, Config{})
	for _, key := range []string{"{}", "print", "coroutine.create(print)"} {
		m.expect("true", `
			local x
			local _, err = pcall(function() return x[`+key+`] end)
			return err:find("0x", 1, true) == nil and err:find("attempt to index", 1, true) ~= nil`)
	}
	// gopher-lua's own text, where no other takes its place.
	m.expect("true", `
		local _, err = pcall(function() error("attempt to index a non-table object(nil) with key 'table: 0xc000123456'", 0) end)
		return err == "attempt to index a non-table object(nil) with a table as key"`)
}
