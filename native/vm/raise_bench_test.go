package vm

import (
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// BenchmarkCaughtError measures what an error costs that a script catches.
func BenchmarkCaughtError(b *testing.B) {
	for _, bench := range []struct{ name, fn string }{
		{"error", `function() error("x") end`},
		{"error table", `function() error(e) end`},
		{"call of nil", `function() local x x() end`},
		{"call of a global", `function() undefined() end`},
		{"call of a field", `function() t.gett() end`},
		{"index of nil", `function() local x return x.y end`},
		{"arithmetic", `function() local x return x + 1 end`},
		{"no error", `function() end`},
		{"deep error", `function() return d(60) + 1 end`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			m := start(b, Config{Yield: func() {}})
			m.Globals().RawSetString("N", lua.LNumber(b.N))
			b.ResetTimer()
			m.expect("nil", `e = {} t = { get = print, put = print } d = function(n) if n == 0 then error("x") end return 1 + d(n - 1) end local f = `+bench.fn+` for i = 1, N do pcall(f) end`)
		})
	}
}
