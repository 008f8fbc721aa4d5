package vm

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestNestingIsBoundedAt200(t *testing.T) {
	for name, call := range map[string]string{
		"pcall":      `pcall(f)`,
		"xpcall":     `xpcall(f, print)`,
		"with":       `pcall(with, 1e6, f)`,
		"coroutines": `coroutine.resume(coroutine.create(f))`,
	} {
		m := start(t, Config{})
		got, err := m.do(`local depth = 0 local function f() depth = depth + 1 ` + call + ` end f() return depth`)
		want := strconv.Itoa(maxNesting)
		if name == "with" {
			want = strconv.Itoa(maxNesting / 2)
		}
		if err != nil || got.String() != want {
			t.Errorf("%s: got %v deep, %v, want %s", name, got, err, want)
		}
	}
}

func TestCallDepthIsBounded(t *testing.T) {
	m := start(t, Config{})
	m.expect("true", `
		local depth = 0
		local function f() depth = depth + 1 return 1 + f() end
		pcall(f)
		return depth > 900 and depth <= 1000`)
}

func TestNestingIsBounded(t *testing.T) {
	m := start(t, Config{})
	for name, source := range map[string]string{
		"pcall":      `local function f() local ok, err = pcall(f); if not ok then error(err, 0) end end f()`,
		"coroutines": `local function f() local ok, err = coroutine.resume(coroutine.create(f)); if not ok then error(err, 0) end end f()`,
		"mixed":      `local function f() local ok, err = pcall(function() return assert(coroutine.resume(coroutine.create(f))) end); if not ok then error(err, 0) end end f()`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.do(source)
			if err == nil || !strings.Contains(err.Error(), "stack overflow") {
				t.Errorf("got %v", err)
			}
			m.expect("true", `return (pcall(function() end))`)
		})
	}
}

func TestGoCallsAreBounded(t *testing.T) {
	m := start(t, Config{Yield: runtime.Gosched})
	m.expect("201", `
		local n = 0
		local function f() n = n + 1 return call(f) end
		local ok, e = pcall(f)
		return not ok and e:find("more than 200 nested calls of library functions", 1, true) and n`)
	const nested = `
		local function nested(n, f) if n == 0 then return f() end return (call(function() return nested(n - 1, f) end)) end
		`
	for name, source := range map[string]string{
		"after errors":      `for i = 1, 300 do pcall(nested, 5, error) end return nested(190, function() return 1 end)`,
		"after interrupts":  `for i = 1, 300 do pcall(with, 1, nested, 5, function() while true do end end) end return nested(190, function() return 1 end)`,
		"of each coroutine": `return nested(150, function() return select(2, coroutine.resume(coroutine.create(function() return nested(150, function() return 1 end) end))) end)`,
		"of a coroutine that was suspended": `
			local co = coroutine.create(function() return nested(150, function() for i = 1, 300 do coroutine.yield() end return nested(45, function() return 1 end) end) end)
			for i = 1, 300 do nested(i % 2 * 150, function() coroutine.resume(co) end) end
			return select(2, coroutine.resume(co))`,
		"after unreachable coroutines": `
			for i = 1, 300 do coroutine.resume(coroutine.create(function() nested(20, coroutine.yield) end)) end
			return nested(190, function() return 1 end)`,
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, Config{Limits: Limits{Coroutines: 50}, Yield: runtime.Gosched})
			m.expect("1", nested+source)
		})
	}
}
