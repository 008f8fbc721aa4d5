package compile

import (
	"context"
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

func TestConcatMeansWhatLuaMeans(t *testing.T) {
	const meta = `local m = {} m.__concat = function(a, b)
		if type(a) == "table" then a = a.s end if type(b) == "table" then b = b.s end
		return setmetatable({s = "(" .. a .. "." .. b .. ")"}, m) end
		local o = setmetatable({s = "o"}, m) `
	tests := []struct{ name, source, want string }{
		{"strings and numbers", `return "a" .. 1 .. 2.5 .. "b" .. -3 .. "" .. "c" .. 4 .. "d"`, "a12.5b-3c4d"},
		{"in two groups", `local s = ("a" .. "b" .. "c" .. "d") .. "e" .. "f" .. "g" .. "h" .. "i" .. ("j" .. "k") return s`, "abcdefghijk"},
		{"a call gives one value", `local function f() return "x", "y" end return "1" .. "2" .. "3" .. "4" .. "5" .. "6" .. "7" .. f()`, "1234567x"},
		{"dots give one value", `local function f(...) return "1" .. "2" .. "3" .. "4" .. "5" .. "6" .. "7" .. ... end return f("x", "y")`, "1234567x"},
		{"operands go from left to right", `local s = "" local function f(x) s = s .. x return x end local r = f(1) .. f(2) .. f(3) .. f(4) .. f(5) .. f(6) .. f(7) .. f(8) return s`, "12345678"},
		{"metamethods at the end", meta + `return ("1" .. "2" .. "3" .. "4" .. "5" .. "6" .. "7" .. o).s`, "(1.(2.(3.(4.(5.(6.(7.o)))))))"},
		{"metamethods in the middle", meta + `return ("1" .. "2" .. "3" .. o .. "5" .. "6" .. "7" .. "8").s`, "(1.(2.(3.(o.5678))))"},
		{"metamethods at the front", meta + `return (o .. "2" .. "3" .. "4" .. "5" .. "6" .. "7" .. "8").s`, "(o.2345678)"},
		{"a nil", `local n return "1" .. "2" .. "3" .. "4" .. n .. "6" .. "7" .. "8"`, "test:1: cannot perform concat operation between nil and string"},
		{"a long chain", "return " + strings.Repeat(`"x" .. `, 150) + `"y"`, strings.Repeat("x", 150) + "y"},
	}
	compile := func(source string) (*lua.FunctionProto, error) {
		return New(Limits{}).Compile(context.Background(), "test", source)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := results(compile, tt.source); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			got := strings.Replace(results(plain, tt.source), "program:", "test:", 1)
			if got != tt.want {
				t.Errorf("plain gopher-lua: got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestConcatChargesBeforeItMakesTheString(t *testing.T) {
	var charged []int64
	c := New(Limits{Charge: func(L *lua.LState, bytes int64) {
		charged = append(charged, bytes)
		if bytes > 1000 {
			L.RaiseError("too much")
		}
	}})
	compile := func(source string) (*lua.FunctionProto, error) {
		return c.Compile(context.Background(), "test", source)
	}
	got := results(compile, `local s = ("x"):rep(100)
		local short = s .. s .. s .. s .. s .. s .. s
		local long = s .. s .. s .. s .. s .. s .. s .. 12
		return pcall(function() return long .. "" .. "" .. "" .. "" .. "" .. "" .. long end)`)
	if want := "false test:4: too much"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []int64{700, 702, 1404}; fmt.Sprint(charged) != fmt.Sprint(want) {
		t.Errorf("charged %v, want %v", charged, want)
	}
}

func TestConcatChargesTheSmallestStringToo(t *testing.T) {
	c := New(Limits{Charge: func(L *lua.LState, bytes int64) { L.RaiseError("charged %d", bytes) }})
	compile := func(source string) (*lua.FunctionProto, error) {
		return c.Compile(context.Background(), "test", source)
	}
	for source, want := range map[string]string{
		`local s = "ab" return s .. s`:                           "test:1: charged 4",
		`local s = "ab" s = s .. 1 return s`:                     "test:1: charged 3",
		`local t = {"x"} t[1] = t[1] .. t[1] .. t[1]`:            "test:1: charged 3",
		`local s = "ab" if s .. "c" == "" then end`:              "test:1: charged 3",
		`local s = "ab" return {k = "c" .. s .. "d"}`:            "test:1: charged 4",
		`local s = "ab" return (function() return s .. s end)()`: "test:1: charged 4",
	} {
		if got := results(compile, source); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

func TestConcatLetsTheHostJoinLongStrings(t *testing.T) {
	var sizes []int
	c := New(Limits{Join: func(_ *lua.LState, texts []string, size int) string {
		sizes = append(sizes, size)
		return strings.Join(texts, "")
	}})
	compile := func(source string) (*lua.FunctionProto, error) {
		return c.Compile(context.Background(), "test", source)
	}
	const meta = `local o = setmetatable({}, {__concat = function(a, b) return "-" end}) `
	for source, want := range map[string][]int{
		`local s = ("x"):rep(131072) return #(s .. s)`:                                        nil,
		`local s = ("x"):rep(131073) return #(s .. s)`:                                        {262146},
		`local s = ("x"):rep(30000) return #(s .. s .. s .. s .. s .. s .. s .. s .. s .. 1)`: {270001},
		meta + `local s = ("x"):rep(200000) return #(s .. s .. o .. 1 .. 2)`:                  {400001},
	} {
		sizes = nil
		got := results(compile, source)
		if plain := results(plain, source); got != plain {
			t.Errorf("%s: got %s, want %s", source, got, plain)
		}
		if fmt.Sprint(sizes) != fmt.Sprint(want) {
			t.Errorf("%s: the host has joined %v, want %v", source, sizes, want)
		}
	}
}

func TestIntrinsicsAreOutOfReachOfScripts(t *testing.T) {
	compile := func(source string) (*lua.FunctionProto, error) {
		return New(Limits{}).Compile(context.Background(), "test", source)
	}
	const chain = `"1" .. "2" .. "3" .. "4" .. "5" .. "6" .. "7" .. "8"`
	tests := []struct{ name, source, want string }{
		{"by its literal", `local s = ` + chain + ` return "(concat)", ("(concat))"):len(), s`, "(concat) 9 12345678"},
		{"by its literal, in a function", `local f = function() return "\40concat)" end return f(), ` + chain, "(concat) 12345678"},
		{"as a global", `_G["(concat)"] = error for k in pairs(_G) do if k:find("[(]") and k ~= "(concat)" then return k end end return ` + chain, "12345678"},
		{"by the metatable of strings", `getmetatable("").__call = function() return "mine" end return ` + chain, "12345678"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := results(compile, tt.source); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
