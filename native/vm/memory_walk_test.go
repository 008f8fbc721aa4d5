package vm

import (
	"runtime"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// busy starts a run in real time.
func busy(t *testing.T, cfg Config) *machine {
	t.Helper()
	cfg.Yield = runtime.Gosched
	return start(t, cfg)
}

// held is what is live in the heap and on stacks.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestAWalkFindsAboutWhatValuesTake(t *testing.T) {
	for name, source := range map[string]string{
		"empty tables":             `for i = 1, 50000 do all[i] = {} end`,
		"arrays":                   `for i = 1, 50000 do all[i] = {i + 0.5, i + 0.25, i + 0.125} end`,
		"fields":                   `for i = 1, 20000 do all[i] = {x = 1, y = 2} end`,
		"fields set later":         `for i = 1, 10000 do local t = {} t.x = 1 all[i] = t end`,
		"one large array":          `for i = 1, 500000 do all[i] = i + 0.5 end`,
		"many string keys":         `for i = 1, 100000 do all["key" .. i] = true end`,
		"many other keys":          `for i = 1, 100000 do all[i + 0.5] = true end`,
		"deleted keys":             `for i = 1, 100000 do all["key" .. i] = true all["key" .. i] = nil end`,
		"strings":                  `for i = 1, 20000 do all[i] = ("x"):rep(500) .. i end`,
		"one string shared":        `local s = ("x"):rep(500) for i = 1, 200000 do all[i] = s end`,
		"one large string":         `all = ("x"):rep(20000000)`,
		"closures":                 `for i = 1, 50000 do local a, b = i, i all[i] = function() return a, b end end`,
		"closures of one variable": `local n = 0 for i = 1, 50000 do all[i] = function() n = n + 1 end end`,
		"nested tables":            `local t = all for i = 1, 50000 do t[1] = {} t = t[1] end`,
		"coroutines":               `for i = 1, 2000 do local co = coroutine.create(function() local x = {} coroutine.yield() return x end) coroutine.resume(co) all[i] = co end`,
		"a stack":                  `local function f(n) local t = {} if n > 0 then return (f(n - 1)) end hold() return t end f(150)`,
	} {
		t.Run(name, func(t *testing.T) {
			m := busy(t, Config{})
			var got int64
			m.Globals().RawSetString("hold", NewFunction(func(L *lua.LState) int { Of(L).measure(); got = Of(L).memory.measured; return 0 }))
			m.expect("nil", `all = {}`)
			m.measure()
			empty, before := m.memory.measured, held()
			m.expect("nil", source)
			truth := held() - before
			began := time.Now()
			m.measure()
			took := time.Since(began)
			got = m.memory.measured - empty
			t.Logf("%d of %d bytes: %.2f; %d objects, %v each", got, truth, float64(got)/float64(truth), m.memory.visited, took/time.Duration(m.memory.visited))
			runtime.KeepAlive(m)
		})
	}
}

var _ = strings.ToLower
