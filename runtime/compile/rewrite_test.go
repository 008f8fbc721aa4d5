package compile

import (
	"context"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// translations are programs with what Lua 5.1 returns for them, joined by
// spaces, and whether plain gopher-lua returns the same.
var translations = []struct {
	name, source, want string
	plainRight         bool
}{
	{"locals are swapped", `local x, y = 1, 2 x, y = y, x return x, y`, "2 1", false},
	{"locals rotate", `local a, b, c = 1, 2, 3 a, b, c = b, c, a return a, b, c`, "2 3 1", false},
	{"a pair steps", `local a, b = 48, 18 while b ~= 0 do a, b = b, a % b end return a`, "6", false},
	{"a key is read before it is assigned", `local a, i = {}, 1 a[i], i = 20, i + 1 return a[1], a[2], i`, "20 nil 2", true},
	{"a key is read before it is assigned, reversed", `local a, i = {}, 1 i, a[i] = i + 1, 20 return a[1], a[2], i`, "20 nil 2", true},
	{"an object is read before it is assigned", `local a, b = {}, {} local old = a a, a.x = b, 1 return old.x, b.x`, "1 nil", false},
	{"a field keeps what a local was", `local d = 1 local a, f = {}, 2 f, a.d = f, d return f, a.d`, "2 1", true},
	{"elements are swapped", `local a, i, j = {1, 2}, 1, 2 a[i], a[j] = a[j], a[i] return a[1], a[2]`, "2 1", true},
	{"targets are set from the last", `local s = "" local t = setmetatable({}, {__newindex = function(_, k) s = s .. k end}) t.a, t.b, t.c = 1, 2, 3 return s`, "cba", true},
	{"a variable that is set twice keeps the first value", `local i i, i = 1, 2 g1, g1 = 3, 4 return i, g1`, "1 3", false},
	{"globals and fields mix", `local l, t = 7, {} g1, t.x, g2 = 1, l, 2 return g1, t.x, g2`, "1 7 2", false},
	{"a call fills what is left", `local function f() return 1, 2 end local a, b, c a, b, c = 0, f() return a, b, c`, "0 1 2", true},
	{"what is too much is dropped", `local n = 0 local function f() n = n + 1 return n end local a a = f(), f() return a, n`, "1 2", true},
	{"a variable read before a call changes it", `local n, t = 1, {} local function f() n = 5 return 6 end t.a, t.b = n, f() return t.a, t.b`, "1 6", false},

	{"an and stops at a call", `local function f() return false end local r = true r = r and (f() and 1) return r`, "false", false},
	{"an and stops at a field", `local t, x = {}, true x = x and t.a and 5 return x`, "nil", false},
	{"a default parameter", `local function f(o) o = o or {5} return o[1] end return f(), f({6})`, "5 6", true},
	{"a last parameter is set by a call in parentheses", `local function id(...) return ... end local function f(p, q) local c = 5 q = (id(true)) return c, q end return f(1, 2)`, "5 true", false},
	{"a constant operand keeps its side", `local function f() return 1, 2 end local n = select("#", true and f()) return n, false or f(), nil and f()`, "1 1 nil", true},

	{"a branch never taken begins a body", `local n = 0 for k in pairs({1, 2, 3}) do if false then local x end n = n + 1 end return n`, "3", false},
	{"a negated constant begins a body", `local n = 0 for k in pairs({1, 2}) do n = n + 1 if not true then n = 9 end end return n`, "2", true},
	{"a break is a body", `for k in pairs({1, 2}) do break end return 1`, "1", true},
	{"a break begins a body", `local n = 0 for k in pairs({1, 2}) do do break end n = n + 1 n = n + 1 end return n`, "0", false},
	{"a break on a constant begins a body", `local n = 0 for k in pairs({1, 2}) do if true then break end n = 7 n = n + 1 n = n + 1 end return n`, "0", false},
	{"a label and a break begin a body", `local n = 0 for k in pairs({1, 2}) do ::a:: do break end n = 1 n = n + 1 n = n + 1 end return n`, "0", false},
	{"a break begins an endless loop in a loop", `local n = 0 for k in pairs({1, 2}) do while true do do break end end n = n + 1 end return n`, "2", false},
	{"a break begins an endless loop in an endless loop", `local n = 0 while true do while true do do break end n = 9 end n = n + 1 if n > 2 then break end end return n`, "3", false},
	{"a break begins a repeat", `local n = 0 for k in pairs({1, 2}) do repeat do break end until false n = n + 1 end return n`, "2", false},
	{"a label before a loop that a break begins", `local n = 0 ::again:: while true do do break end n = 9 n = 9 n = 9 n = 9 end n = n + 1 if n < 3 then goto again end return n`, "3", false},
	{"a loop that never runs begins a body", `local n = 0 for _ in pairs({1, 2}) do while false do n = 9 end n = n + 1 end return n`, "2", true},
	{"an iterator is a method of a call's field", `local function f() return {b = {l = function() local n = 0 return function() n = n + 1 if n < 3 then return n end end end}} end local s = "" for v in f().b:l() do s = s .. v end return s`, "12", false},
	{"an iterator is a field of a call's field", `local function f() return {b = {l = next}} end local s = "" for k, v in f().b.l, {7} do s = s .. k .. v end return s`, "17", false},
	{"a break leaves a loop whose iterator is computed", `local function f() return {b = {l = pairs}} end local n = 0 for k in f().b.l({1, 2, 3}) do if k == 2 then break end n = n + 1 end return n`, "1", false},
	{"constant conditions choose", `local s = "" if nil then s = "a" elseif not nil then s = "b" else s = "c" end while not 1 do s = "d" end return s`, "b", true},

	{"a function's own name is the outer one", `local function f() return "outer" end local f = function(n) if n then return "inner" end return f(1) end return f()`, "outer", false},
	{"a local function calls itself", `local function f(n) if n == 0 then return "end" end return f(n - 1) end return f(3)`, "end", true},
	{"a break closes what an inner block captured", `local f for i = 1, 3 do if i == 2 then local x = i * 10 f = function() return x end break end end local a, b, c, d, e = 1, 2, 3, 4, 5 return f()`, "20", false},
	{"a break across blocks closes each", `local f, g for i = 1, 3 do do local x = i f = function() return x end do local y = i * 2 g = function() return y end if i == 2 then break end end end end local a, b, c, d, e, h = 1, 2, 3, 4, 5, 6 return f(), g()`, "2 4", false},
	{"each iteration has its own variable", `local fs = {} for i = 1, 3 do local j = i fs[i] = function() j = j + 1 return j end end return fs[1](), fs[1](), fs[2]()`, "2 3 3", true},

	{"a goto leaves outer variables open", `local x = 0 local function inc() x = x + 1 end for i = 1, 3 do if i == 2 then goto continue end inc() ::continue:: end return x`, "2", false},
	{"a goto closes what it leaves", `local fs, i = {}, 1 do ::top:: local x = i fs[i] = function() return x end i = i + 1 if i <= 3 then goto top end end return fs[1](), fs[2](), fs[3]()`, "1 2 3", true},
	{"a goto leaves nested loops", `local n = 0 for i = 1, 3 do for j = 1, 3 do n = n + 1 if j == 2 then goto out end end end ::out:: return n`, "2", true},
	{"a label before a jump", `local n = 0 while true do ::again:: do if n > 2 then break end end n = n + 1 goto again end return n`, "3", true},

	{"a keyed value follows a full batch", `local function f() return "f" end local t = {` + items(50) + `, x = f()} return t[1], #t, t.x`, "1 50 f", false},
	{"values follow a full batch", `local function f() return "f", "g" end local t = {` + items(50) + `, f()} return t[1], #t, t[51], t[52]`, "1 52 f g", false},
	{"both follow a full batch", `local function f() return "f", "g" end local t = {` + items(100) + `, x = f(), f()} return t[51], #t, t.x, t[101], t[102]`, "51 102 f f g", false},
	{"a keyed call ends a constructor", `local function f() return "f", "g" end local t = {1, 2, x = f()} return #t, t.x`, "2 f", false},

	{"numbers with leading zeros are decimal", `return 0010, 08, 00`, "10 8 0", false},
	{"a huge number is infinite", `return 1e999 == 1 / 0, -1e999 == -1 / 0`, "true true", false},
	{"hexadecimal numbers have 64 bits", `return 0xffffffffffffffff == 2 ^ 64, 0xff, 0x7fffffffffffffff == 2 ^ 63`, "true 255 true", false},
	{"hexadecimal numbers have any length", `return 0xffffffffffffffffff == 2 ^ 72, 0x1000000000000000000 == 2 ^ 72`, "true true", false},
	{"the bounds of a loop are strings", `local s, a, b = 0, "1", "0x3" for i = a, b, "1" do s = s + i end for i = 1, b do s = s + i end return s`, "12", false},
	{"a bound is one value", `local function f() return 2, 3 end local s = 0 for i = f(), (f()) do s = s + i end for i = 1, f() do s = s + i end for i = f(), 4, f() do s = s + i end return s`, "11", true},
	{"a break leaves a loop whose bounds are computed", `local f for i = tonumber("1"), tonumber("9"), 2 do local x = i f = function() return x end if i == 3 then break end end local a, b, c, d, e, g = 1, 2, 3, 4, 5, 6 return f()`, "3", true},

	{"an iterator without a state", `local n local function it() n = (n or 0) + 1 if n < 4 then return n end end local s = 0 for i in it do s = s + i end return s`, "6", true},
	{"next and one variable", `local n = 0 for k in next, {1, 2, x = 3} do n = n + 1 end return n`, "3", false},
	{"next and two variables", `local n = 0 for k, v in next, {1, 2, 3, x = 4} do n = n + v end return n`, "10", false},
	{"next and a register that was used", `local n, t = 0, {1, 2, 3} do local a, b, c, d, e = 1, 1, 1, 2, 2 end for k, v in next, t do n = n + 1 end do local a, b, c, d, e = 1, 2, 2, 2, 2 end for k in next, t do n = n + 1 end return n`, "6", false},
	{"next and a call", `local function f() return {1, 2, 3, x = 4} end local n = 0 for k in next, f() do n = n + 1 end return n`, "4", false},
	{"a call gives the first key", `local function f() return {1, 2, 3}, 1 end local s = 0 for k in next, f() do s = s + k end for k, v in next, f() do s = s + k end return s`, "10", false},
	{"a third expression gives nothing", `local function f() end local s = 0 for k in next, {1, 2}, f() do s = s + k end return s`, "3", true},
	{"a fourth expression is evaluated", `local function f() return 7 end local n, s = 0, 0 for k in next, {1, 2}, nil, (function() n = n + 1 end)() do s = s + k end return s, n`, "3 1", true},
	{"dots are an iterator", `local function f(...) local s = 0 for k in ... do s = s + k end for k, v in ... do s = s + v end return s end return f(next, {1, 2})`, "6", true},

	{"escapes of Lua 5.3", `return "\x41\x62", "\u{41}\u{20AC}\u{1F600}", "a\z
		b", #"\u{7FF}\u{D800}\x00", '\065\255' == "A\xff", "\\x41", [[\x41]] --[==[ "\xzz" ]==] -- "\xzz"`, "Ab A\u20ac\U0001f600 ab 6 true \\x41 \\x41", false},
}

func items(n int) string {
	var list []string
	for i := 1; i <= n; i++ {
		list = append(list, lua.LNumber(i).String())
	}
	return strings.Join(list, ", ")
}

func TestRewriteMeansWhatLuaMeans(t *testing.T) {
	compiler := New(Limits{})
	for _, tt := range translations {
		t.Run(tt.name, func(t *testing.T) {
			compile := func(source string) (*lua.FunctionProto, error) {
				return compiler.Compile(context.Background(), "test", source)
			}
			if got := results(compile, tt.source); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if right := results(plain, tt.source) == tt.want; right != tt.plainRight {
				t.Errorf("plain gopher-lua is right: got %v, want %v", right, tt.plainRight)
			}
		})
	}
}

// results runs source in a fresh state and joins what it returns.
func results(compile func(string) (*lua.FunctionProto, error), source string) (joined string) {
	proto, err := compile(source)
	if err != nil {
		return err.Error()
	}
	L := lua.NewState()
	defer L.Close()
	defer func() {
		if r := recover(); r != nil {
			joined = "panic"
		}
	}()
	L.SetContext(newCountdown(stepsMax))
	L.Push(L.NewFunctionFromProto(proto))
	if err := L.PCall(0, lua.MultRet, nil); err != nil {
		return err.(*lua.ApiError).Object.String()
	}
	var list []string
	for i := 1; i <= L.GetTop(); i++ {
		list = append(list, L.Get(i).String())
	}
	return strings.Join(list, " ")
}

func TestRewriteKeepsLines(t *testing.T) {
	tests := []struct {
		name, source, want string
	}{
		{"assignment with several sides", "local a, b = 1, 2\na, b = b,\n  a.x.y", "test:3: "},
		{"assignment of an and", "local a = true\n\na = a and error('here')", "test:3: here"},
		{"chain of concatenations", "local n\nlocal s = 'a'..'b'..'c'..\n'd'..'e'..'f'..'g'..n", "test:2: "},
		{"constructor in batches", "local t = {" + items(50) + ",\nx = error('here'),\n1}", "test:2: here"},
		{"behind a break that is a goto", "local f\nfor i = 1, 2 do\nlocal x\ndo local y f = function() return y end\nbreak\nend\nend\nerror('here')", "test:8: here"},
		{"behind a goto", "do\ngoto out\nend\n::out::\nerror('here')", "test:5: here"},
		{"in a folded branch", "if true then\nerror('here') end", "test:2: here"},
		{"in a loop with a head", "for k in pairs({1}) do\n\ndo if true then error('here') end end end", "test:3: here"},
		{"behind an escape that skips lines", "local s = 'a\\z\n\n  b'\nerror('here')", "test:4: here"},
		{"behind a shebang", "#!/usr/bin/env tidelock\nerror('here')", "test:2: here"},
	}
	compile := func(source string) (*lua.FunctionProto, error) {
		return New(Limits{}).Compile(context.Background(), "test", source)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := results(compile, tt.source); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q first", got, tt.want)
			}
		})
	}
}

func TestPatchPutsTheLinesOfGotosBack(t *testing.T) {
	proto, err := New(Limits{}).Compile(context.Background(), "test",
		"local f\nfor i = 1, 2 do\nif i then local x f = function() return x end break end\nif i then goto next end\n::next:: end")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range proto.DbgSourcePositions {
		if line > 6 {
			t.Errorf("got line %d of 5", line)
		}
	}
}

func TestPatchHintsAtFieldsOfEmptyTables(t *testing.T) {
	tests := []struct {
		name, source string
		want         int
	}{
		{"a field follows", "local t = {} t.x = 1", 1},
		{"a function follows", "local t = {} function t.f() end", 1},
		{"nothing follows", "local t = {} return t", 1},
		{"an element follows", "local t = {} t[1] = 2", 1},
		{"elements are in it", "local t = {1, 2}", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proto, err := New(Limits{}).Compile(context.Background(), "test", tt.source)
			if err != nil {
				t.Fatal(err)
			}
			if got := argC(proto.Code[0]); opcode(proto.Code[0]) != lua.OP_NEWTABLE || got != tt.want {
				t.Errorf("got hint %d, want %d", got, tt.want)
			}
		})
	}
}

func TestCompileRefusesEscapesWithoutAMeaning(t *testing.T) {
	for source, want := range map[string]string{
		`return "\300"`:              `escape sequence too large near '\300'`,
		`return '\256'`:              `escape sequence too large near '\256'`,
		`return "\x4g"`:              `hexadecimal digit expected near '\x4g'`,
		`return "\u20AC"`:            `missing '{' in \u{xxxx} near '\u'`,
		`return "\u{}"`:              `hexadecimal digits and '}' expected in \u{xxxx} near '\u{'`,
		`return "\u{12"`:             `hexadecimal digits and '}' expected in \u{xxxx} near '\u{'`,
		`return "\u{110000}"`:        `UTF-8 value too large near '\u{110000}'`,
		`return "\u{fffffffff}"`:     `UTF-8 value too large near '\u{fffffffff}'`,
		"-- \\x\nreturn '\\x'":       `hexadecimal digit expected near '\x''`,
		"return 'a\\z\n\n', '\\999'": `escape sequence too large near '\999'`,
	} {
		_, err := New(Limits{}).Compile(context.Background(), "test", source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", source, err, want)
		}
	}
}
