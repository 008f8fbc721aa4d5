package runtime_test

import "testing"

func TestGlobalsHideThatTheyAreFilledLate(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"print is all it touches", `print(12, nil)`, `null`},
		{"a name that is not set", `return missing == nil`, `true`},
		{"a function it takes away at once", `assert = nil return assert == nil`, `true`},
		{"a function it replaces at once", `tostring = function() return "mine" end return tostring(1)`, `"mine"`},
		{"string, which is there from the start", `string = nil return string == nil and assert ~= nil and string == nil and ("x"):rep(2)`, `"xx"`},
		{"native, which is there from the start", `native = nil return native == nil and assert ~= nil and native == nil`, `true`},
		{"require, replaced", `require = 7 return assert ~= nil and require`, `7`},
		{"a name of its own, set first", `mine = 5 return assert and mine`, `5`},
		{"all names", `mine = 5
			local missing = {}
			for name in ("assert print require native string table math mine _G _VERSION"):gmatch("%S+") do
				if rawget(_G, name) == nil then missing[#missing + 1] = name end
			end
			return table.concat(missing, " ")`, `""`},
		{"each name once", `local seen = {}
			for name in pairs(_G) do
				assert(not seen[name], name)
				seen[name] = true
			end
			return seen.pairs and seen.string and seen.print`, `true`},
		{"the metatable", `return getmetatable(_G) == nil`, `true`},
		{"a metatable of its own", `setmetatable(_G, {__index = function(_, name) return name end}) return other .. type(type)`, `"otherfunction"`},
		{"in a coroutine", `return coroutine.wrap(function() return select("#", 1, 2) end)()`, `2`},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, h *harness) {
				if got := h.mustRun(t, "a", test.source); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		})
	}
}
