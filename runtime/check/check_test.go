package check

import (
	"strings"
	"testing"
)

var names = Names{
	"print": nil, "pairs": nil, "pcall": nil,
	"string": {"find": nil, "rep": nil},
	"os":     {"time": nil},
	"native": {"sleep": nil, "lock": {"with": nil, "turn": nil}},
}

func TestSourceFindsMistakes(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"print(1)", ""},
		{"prnt(1)", "a.lua:1:1: undefined global prnt"},
		{"local x = 1\nreturn x + y", "a.lua:2:12: undefined global y"},
		{"local function f(a, ...) return a, arg, f end return f", ""},
		{"for i = 1, 2 do print(i) end for k, v in pairs({}) do print(k, v) end", ""},
		{"do local x end return x", "undefined global x"},
		{"repeat local x = 1 until x", ""},
		{"local x = x", "undefined global x"},
		{"helper() function helper() end", ""},
		{"print(function() count = 1 end, count)", ""},
		{"local t = {} function t:m() return self end return t", ""},
		{"return self", "undefined global self"},
		{"native.lock.wth('a', print)", "a.lua:1:13: native.lock has no field wth"},
		{"native.lok.with('a', print)", "native has no field lok"},
		{"local native = { x = 1 } return native.y", ""},
		{"native.lock.with('a', function() return native.slep(1) end)", "native has no field slep"},
		{"return ('x'):anything()", ""},
		{"io.open('x')", "io is not there: scripts have no files"},
		{"os.execute('ls')", "os.execute is not there: scripts run no programs"},
		{"return string.dump(print)", "string.dump is not there"},
		{"return native[x]", "undefined global x"},
		{"string.trim = print", "assigns to a field of string"},
		{"print = nil", "assigns to print"},
		{"local print = 1 print = 2 return print", ""},
		{"return { a = b, [c] = 1, d }", "undefined global b\na.lua:1:18: undefined global c\na.lua:1:26: undefined global d"},
		{"return not a, -b, #c, a .. b, a < b, a and b", "undefined global a"},
		{"goto x ::x:: while true do break end", ""},
		{"if x then", "a.lua:1"},
		{"#!/usr/bin/env tidelock\nprnt()", "a.lua:2:1: undefined global prnt"},
		{strings.Repeat("(", 100000), "a.lua:1"},
	} {
		var got []string
		for _, f := range Source(t.Context(), "a.lua", test.source, names) {
			got = append(got, f.String())
		}
		if text := strings.Join(got, "\n"); (text == "") != (test.want == "") || !strings.Contains(text, test.want) {
			t.Errorf("%.60q: got %q, want %q", test.source, text, test.want)
		}
	}
}
