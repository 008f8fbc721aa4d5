package vm

import (
	"testing"
	"testing/synctest"
)

func TestYieldCrossesGoFunctions(t *testing.T) {
	m := start(t, Config{})
	for name, body := range map[string]string{
		"pcall":        `local _, v = pcall(function() return coroutine.yield(1) end); return v`,
		"xpcall":       `local _, v = xpcall(function() return coroutine.yield(1) end, print); return v`,
		"a metamethod": `return setmetatable({}, {__index = function() return coroutine.yield(1) end}).x`,
		"gsub":         `local v; (("a"):gsub("a", function() v = coroutine.yield(1) end)); return v`,
		"sort":         `local v; table.sort({1, 2}, function(a, b) v = v or coroutine.yield(1); return a < b end); return v`,
		"an iterator":  `for v in function() return coroutine.yield(1) end do return v end`,
	} {
		t.Run(name, func(t *testing.T) {
			m.expect("1 22 dead", `
				local co = coroutine.create(function() `+body+` end)
				local _, first = coroutine.resume(co)
				local _, last = coroutine.resume(co, 22)
				return first .. " " .. tostring(last) .. " " .. coroutine.status(co)`)
		})
	}
}

func TestYieldCannotSuspendALease(t *testing.T) {
	m := start(t, Config{})
	m.expect("true", `
		local co = coroutine.create(function() with(1000, function() coroutine.yield(1) end) end)
		local ok, err = coroutine.resume(co)
		return not ok and err:find("a lease can't be suspended", 1, true) ~= nil`)
	m.expect("3", `
		return (with(1000, function()
			local co = coroutine.create(function() coroutine.yield(1); coroutine.yield(2) end)
			local _, a = coroutine.resume(co)
			local _, b = coroutine.resume(co)
			return a + b
		end))`)
}

func TestYieldOutsideACoroutineIsAnError(t *testing.T) {
	m := start(t, Config{})
	m.expect("false", `return (pcall(coroutine.yield, 1))`)
}

func TestCloseLeavesNoCoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The bubble fails the test if a goroutine outlives it.
		m := start(t, Config{})
		m.expect("nil", `
			for i = 1, 100 do
				keep = {keep, coroutine.create(function() pcall(coroutine.yield); coroutine.yield() end)}
				coroutine.resume(keep[2])
			end`)
	})
}

func TestCoroutinesAreLimited(t *testing.T) {
	m := start(t, Config{Limits: Limits{Coroutines: 50}})
	_, err := m.do(`
		local keep = {}
		for i = 1, 51 do keep[i] = coroutine.create(coroutine.yield); coroutine.resume(keep[i]) end`)
	if k := m.Interrupt(); err == nil || k == nil || k.Cause != Coroutine {
		t.Errorf("error %v, interrupted by %v", err, k)
	}
}

func TestCoroutinesThatAreUnreachableAreClosed(t *testing.T) {
	m := start(t, Config{Limits: Limits{Coroutines: 50}})
	m.expect("nil", `for i = 1, 1000 do coroutine.resume(coroutine.create(coroutine.yield)) end`)
}
