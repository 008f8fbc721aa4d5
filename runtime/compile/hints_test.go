package compile

import (
	"context"
	"fmt"
	"testing"
)

func TestSyntaxErrorsSayWhatIsMeant(t *testing.T) {
	c := New(Limits{})
	for _, test := range []struct{ source, want string }{
		{"local function f()\n  return 1\n", "test:3: 'end' expected (to close 'function' at line 1) near '<eof>' @0"},
		{"if x then\n  y()\n", "test:3: 'end' expected (to close 'if' at line 1) near '<eof>' @0"},
		{"local function f(a)\n  if a then\n    g()\n  for i = 1, 2 do\n    h()\n  end\nend\n", "test:8: 'end' expected (to close 'function' at line 1) near '<eof>': by its indentation the 'if' at line 2 has none @0"},
		{"while x do\n if y then\n z()\nend\n", "test:5: 'end' expected (to close 'while' at line 1) near '<eof>': by its indentation the 'if' at line 2 has none @0"},
		{"repeat\n x()\n", "test:3: 'until' expected (to close 'repeat' at line 1) near '<eof>' @0"},
		{"f(1,\n 2\n", "test:3: ')' expected (to close '(' at line 1) near '<eof>' @0"},
		{"local t = {\n a = 1,\n b = 2\n", "test:4: '}' expected (to close '{' at line 1) near '<eof>' @0"},
		{"local t = {\n a = 1\n b = 2 }", "test:3: '}' expected (to close '{' at line 1) near 'b': is a comma missing before it? @2"},
		{"local t = { 1 2 }", "test:1: '}' expected near '2': is a comma missing before it? @15"},
		{"f(function()\n  g()\n)\n", "test:3: 'end' expected (to close 'function' at line 1) near ')' @1"},
		{"for i = 1, 3 do\n  if x then\n    g()\n  else\n    h()\n  }\nend", "test:6: 'end' expected (to close 'if' at line 2) near '}' @3"},
		{"if x then\n for i = 1, 2 do\n  g()\n else\n h() end", "test:4: 'end' expected (to close 'for' at line 2) near 'else' @2"},
		{"f(1\nlocal x = 2", "test:2: ')' expected (to close '(' at line 1) near 'local' @1"},
		{"x += 1", "test:1: syntax error near '+': Lua has no '+=', write x = x + ... @3"},
		{"a.b.c -= 2", "test:1: syntax error near '-': Lua has no '-=', write a.b.c = a.b.c - ... @7"},
		{"t[1] *= 2", "test:1: syntax error near '*': Lua has no '*=', write a = a * ... @6"},
		{"i++", "test:1: syntax error near '+': Lua has no '++', write i = i + 1 @2"},
		{"if a != b then end", "test:1: unexpected symbol near '!=': not equal is written ~= @6"},
		{"if !a then end", "test:1: unexpected symbol near '!': Lua's negation is the word not @4"},
		{"if a && b then end", "test:1: unexpected symbol near '&&': Lua's operator is the word and @6"},
		{"if a || b then end", "test:1: unexpected symbol near '||': Lua's operator is the word or @6"},
		{"local x = 5 // 2", "test:1: syntax error near '/': comments begin with --, and Lua 5.1 has no '//' but math.floor(a / b) @14"},
		{"// a comment", "test:1: syntax error near '/': comments begin with --, and Lua 5.1 has no '//' but math.floor(a / b) @1"},
		{"/* a comment */", "test:1: syntax error near '/': comments are --[[ ... ]] @1"},
		{"for i = 1, 2 do if i then continue end end", "test:1: syntax error near 'continue': Lua has no 'continue', write goto continue, and ::continue:: before the loop's end @27"},
		{"for i = 1, 2 do\n  continue\nend", "test:2: syntax error near 'continue': Lua has no 'continue', write goto continue, and ::continue:: before the loop's end @3"},
		{"local s = “text”", `test:1: unexpected symbol near '“': a curly quote, write " @11`},
		{"local s = ‘text’", "test:1: unexpected symbol near '‘': a curly quote, write ' @11"},
		{"local x =\u00a05", "test:1: unexpected symbol near '?': a no-break space, write a plain one @10"},
		{"local größe = 5", "test:1: unexpected symbol near 'ö': names have letters without accents, digits and _ @9"},
		{"if x > 1\n  return 1\nend", "test:2: 'then' expected (for 'if' at line 1) near 'return' @3"},
		{"if x > 1 return 1 end", "test:1: 'then' expected near 'return' @10"},
		{"if x = 1 then end", "test:1: syntax error near '=': '=' assigns, to compare write == @6"},
		{"while x\n  y()\nend", "test:2: 'do' expected (for 'while' at line 1) near 'y' @3"},
		{"for i = 1, 10\n  print(i)\nend", "test:2: 'do' expected (for 'for' at line 1) near 'print' @3"},
		{"for k, v in pairs(t)\n  print(k)\nend", "test:2: 'do' expected (for 'for' at line 1) near 'print' @3"},
		{"if a then\n b()\nelse if c then\n d()\nend\n", "test:6: 'end' expected (to close 'if' at line 1) near '<eof>': 'else if' at line 3 opens an 'if' that needs an 'end' of its own, elseif doesn't @0"},
		{"if a then\n b()\nelif c then\n d()\nend\n", "test:3: syntax error near 'elif': Lua has no 'elif', write elseif @1"},
		{"end", "test:1: '<eof>' expected near 'end': there is nothing open that it could close @1"},
		{"local x = 1\nend", "test:2: '<eof>' expected near 'end': there is nothing open that it could close @1"},
		{"f())", "test:1: '<eof>' expected near ')': there is nothing open that it could close @4"},
		{"local t = { \"a\": 1 }", `test:1: syntax error near ':': a field of a table is name = value, or ["name"] = value @16`},
		{"local t = { a: 1 }", `test:1: syntax error near '1': a field of a table is name = value, or ["name"] = value @16`},
		{"local t = { 'a' = 1 }", `test:1: syntax error near '=': a field of a table is name = value, or ["a"] = value @17`},
		{"return 1\nlocal x = 2", "test:2: syntax error near 'local': 'return' at line 1 must be the last statement of its block @1"},
		{"var x = 5", "test:1: syntax error near 'var': a variable is declared by local @1"},
		{"let x = 5", "test:1: syntax error near 'let': a variable is declared by local @1"},
		{"def f(x)\n return x\nend", "test:1: syntax error near 'def': a function is declared by function @1"},
		{"local x = a ? b : c", "test:1: unexpected symbol near '?': a choice is written cond and a or b @13"},
		{"local x = a ?? b", "test:1: unexpected symbol near '??': Lua's operator is the word or @13"},
		{"local f = (x) => x + 1", "test:1: syntax error near '=': a function is function(x) ... end @15"},
		{"x := 5", "test:1: syntax error near '=': Lua assigns with = @4"},
		{"if a <> b then end", "test:1: syntax error near '>': not equal is written ~= @7"},
		{"if a === b then end", "test:1: syntax error near '=': equal is written ==, not equal ~= @8"},
		{"local s = `x`", "test:1: unexpected symbol near '`': a string is written in \" or ' @11"},
		{"local s = \"abc\nx = 1", "test:1: unfinished string near 'abc': its closing quote is missing on this line @11"},
		{"local s = [[abc\nx = 1", "test:2: unfinished long string near '<eof>' (it begins at line 1) @0"},
		{"x = 1\n--[[ abc\nx = 1", "test:3: unfinished long comment near '<eof>' (it begins at line 2) @0"},
		{"local x = = 1", "test:1: syntax error near '=' @11"},
		{"local 5 = x", "test:1: syntax error near '5' @7"},
		{"x = ", "test:1: syntax error near '<eof>' @0"},
		{"x", "test:1: syntax error near '<eof>' @0"},
		{"x = y 5", "test:1: syntax error near '5' @7"},
		{"local function (x) end", "test:1: syntax error near '(' @16"},
		{"function f(a, b", "test:1: ')' expected (to close '(' at line 1) near '<eof>' @0"},
		{"local x = 5 end", "test:1: '<eof>' expected near 'end': there is nothing open that it could close @13"},
		{"try { x() }", "<nil> @0"},
		{"import foo", `test:1: syntax error near 'import': a module is loaded by local name = require("name") @1`},
		{"goto continue", "test:1: no visible label 'continue' for <goto> @0"},
		{"break", "test:1: no loop to break near 'break' @0"},
		{"local x = 08x", "test:1: syntax error near '<eof>' @0"},
		{"f(a b)", "test:1: ')' expected near 'b' @5"},
		{"f(a, )", "test:1: syntax error near ')' @6"},
		{"x = {1,,2}", "<nil> @0"},
		{"a.b:c = 5", "test:1: syntax error near '=' @7"},
		{"f() = 5", "test:1: syntax error near '=' @5"},
		{"local a.b = 5", "test:1: syntax error near '.' @8"},
		{"return return", "test:1: syntax error near 'return' @8"},
		{"if then x() end", "test:1: syntax error near 'then' @4"},
		{"if x do y() end", "test:1: 'then' expected near 'do' @6"},
		{"while x then y() end", "test:1: 'do' expected near 'then' @9"},
		{"x = function() return 1", "test:1: 'end' expected (to close 'function' at line 1) near '<eof>' @0"},
	} {
		_, err := c.Compile(context.Background(), "test", test.source)
		column := 0
		if e, ok := err.(*SyntaxError); ok {
			column = e.Column
		}
		if got := fmt.Sprintf("%v @%d", err, column); got != test.want {
			t.Errorf("%q\n    %s", test.source, got)
		}
	}
}
