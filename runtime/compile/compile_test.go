package compile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

func TestCompileReportsSyntaxErrorsAsLuaDoes(t *testing.T) {
	tests := []struct {
		name, source, want string
		column             int
	}{
		{"symbol", "x = = 1", "test:1: syntax error near '='", 5},
		{"word on a later line", "x = 1\r\n\ny = then", "test:3: syntax error near 'then'", 5},
		{"end of the source", "x = 1\nif x then\n", "test:3: 'end' expected (to close 'if' at line 2) near '<eof>'", 0},
		{"open string", "x = 'abc\n'", "test:1: unfinished string near 'abc'", 0},
		{"open long string", "x = [[abc\n", "test:2: unfinished long string near '<eof>'", 0},
		{"open comment", "--[[abc\n\n", "test:3: unfinished long comment near '<eof>'", 0},
		{"stray character", "x = 1 ?", "test:1: unexpected symbol near '?'", 7},
		{"stray control character", "x = \x01", "test:1: unexpected symbol near '?'", 5},
		{"number", "x =\n 1e y", "test:2: malformed number near '1e '", 2},
		{"long token", "x = y " + strings.Repeat("1", 100), "test:1: syntax error near '" + strings.Repeat("1", 60) + "...'", 7},
		{"dots outside", "function f() return ... end", "test:1: cannot use '...' outside a vararg function", 0},
		{"break outside", "x = 1\nbreak", "test:2: no loop to break near 'break'", 0},
		{"break in a function in a loop", "while x do\nf(function() break end) end", "test:2: no loop to break near 'break'", 0},
		{"no label", "do ::a:: end\ngoto a", "test:2: no visible label 'a' for <goto>", 0},
		{"label in a function", "goto a\nf(function() ::a:: end)", "test:1: no visible label 'a' for <goto>", 0},
		{"label twice", "::a::\nx()\n::a::", "test:3: label 'a' already defined on line 1", 0},
		{"into a scope", "goto a\nlocal x\n::a:: x()", "test:1: <goto a> jumps into the scope of local 'x'", 0},
		{"into a scope from a block", "do local a, b goto x end\nlocal c\n::x:: c()", "test:1: <goto x> jumps into the scope of local 'c'", 0},
		{"into the scope of a condition", "repeat\ngoto a\nlocal x\n::a:: until x", "test:2: <goto a> jumps into the scope of local 'x'", 0},
		{"too many registers", "return " + series(250, "f(%d", "..") + strings.Repeat(")", 250), "too many syntax levels", 0},
		{"too many arguments", "return f(" + series(250, "%d", ",") + ")", "test: function or expression too complex", 0},
		{"binary chunk", "\x1bLua", "test:1: binary chunks can't be loaded", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(Limits{}).Compile(context.Background(), "test", tt.source)
			var got *SyntaxError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if !strings.Contains(got.Error(), tt.want) {
				t.Errorf("got %q, want %q", got.Error(), tt.want)
			}
			if tt.column != 0 && got.Column != tt.column {
				t.Errorf("got column %d, want %d", got.Column, tt.column)
			}
			if got.Unwrap() != nil {
				t.Errorf("got an internal error: %v", got.Unwrap())
			}
		})
	}
}

func TestCompileTakes(t *testing.T) {
	tests := []struct{ name, source string }{
		{"nothing", ""},
		{"a shebang alone", "#!/bin/tidelock"},
		{"a byte order mark", "\ufeffreturn 1"},
		{"a byte order mark and a shebang", "\ufeff#!/bin/tidelock\r\nreturn 1"},
		{"a label at the end of a block", "do goto a local x ::a:: end"},
		{"nested labels of one name", "::a:: do ::a:: goto a end"},
		{"an empty branch", "if x then elseif false then else end while false do end repeat until true"},
		{"calls as statements in a long row", strings.Repeat("log.info('x')\n", 2000)},
		{"many sums in a row", strings.Repeat("x = x + 1 until_ = 2\n", 2000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(Limits{}).Compile(context.Background(), "test", tt.source); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRecoveredPanicShowsNoText(t *testing.T) {
	cause := errors.New("index out of range")
	for _, value := range []any{cause, "index out of range"} {
		err := recovered("test", value)
		if got, want := err.Error(), "test: internal error of the compiler"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := err.Unwrap().Error(); got != cause.Error() {
			t.Errorf("got cause %q, want %q", got, cause)
		}
	}
}

func TestTracebackShowsPrintableNames(t *testing.T) {
	compile := func(source string) (*lua.FunctionProto, error) {
		return New(Limits{}).Compile(context.Background(), "test", source)
	}
	for _, name := range []string{``, `\0\27[31m`, `\200`, strings.Repeat("x", 200)} {
		got := results(compile, `local t = {["`+name+`"] = function() local x return x.y end} t["`+name+`"]()`)
		if !strings.HasPrefix(got, "test:1: attempt to index") {
			t.Errorf("name %q: got %q", name, got)
		}
	}
	proto, err := compile(`t[""]() t["\n"]() t["a"]() local function f() t[""]() end`)
	if err != nil {
		t.Fatal(err)
	}
	calls := append(proto.DbgCalls, proto.FunctionPrototypes[0].DbgCalls...)
	var got []string
	for _, c := range calls {
		got = append(got, c.Name)
	}
	if want := []string{"?", "?", "a", "?"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got names %q, want %q", got, want)
	}
}

func TestCompileReturnsTheSameProtoForEqualSources(t *testing.T) {
	c := New(Limits{})
	compile := func(name, source string) *lua.FunctionProto {
		t.Helper()
		proto, err := c.Compile(context.Background(), name, source)
		if err != nil {
			t.Fatal(err)
		}
		return proto
	}
	first := compile("a", "return 1")
	if compile("a", "return 1") != first {
		t.Error("the same source was compiled twice")
	}
	if compile("b", "return 1") == first || compile("a", "return 2") == first {
		t.Error("name or source was ignored")
	}
}

func TestCacheDropsTheLeastRecentlyUsed(t *testing.T) {
	c := newCache(100)
	key := func(name string) cacheKey { return cacheKey{name: name} }
	protos := map[string]*lua.FunctionProto{}
	for _, name := range []string{"a", "b", "c"} {
		protos[name] = &lua.FunctionProto{}
		c.put(key(name), protos[name], 30)
	}
	c.get(key("a"))
	c.put(key("d"), &lua.FunctionProto{}, 30)
	c.put(key("e"), &lua.FunctionProto{}, 101)
	c.put(key("a"), &lua.FunctionProto{}, 30)
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "e": false} {
		if _, got := c.get(key(name)); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got, _ := c.get(key("a")); got != protos["a"] {
		t.Error("an entry was replaced")
	}
	if got, want := c.bytes, 93; got != want || c.recent.Len() != 3 {
		t.Errorf("got %d bytes in %d entries, want %d in 3", got, c.recent.Len(), want)
	}
}

func TestCompileWithAnEndedContextWaitsForNoSlot(t *testing.T) {
	c := New(Limits{Concurrent: 1})
	if _, err := c.Compile(t.Context(), "test", "return 1"); err != nil {
		t.Fatal(err)
	}
	c.slots <- struct{}{} // another compilation runs
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	if _, err := c.Compile(ctx, "test", "return 2"); err != ended {
		t.Errorf("got %v, want the context's cause", err)
	}
	if _, err := c.Compile(t.Context(), "test", "return 1"); err != nil {
		t.Errorf("a cached source: %v", err)
	}
	<-c.slots
	if _, err := c.Compile(t.Context(), "test", "return 2"); err != nil {
		t.Errorf("with a free slot: %v", err)
	}
}

func TestProtoRunsInSeveralStatesAtOnce(t *testing.T) {
	const source = `
		local function id(...) return ... end
		local f for i = 1, 9 do local x = i if i == 5 then do local y = x f = function() return y end break end end end
		local a, b = 1, 2 a, b = b, a
		local t = {` + "1,2,3,4,5,6,7,8,9,10,1,2,3,4,5,6,7,8,9,20,1,2,3,4,5,6,7,8,9,30,1,2,3,4,5,6,7,8,9,40,1,2,3,4,5,6,7,8,9,50" + `, id(7, 8)}
		return a .. b .. f() .. #t .. t[52] .. "x" .. "y" .. "z" .. tostring(nil)`
	c := New(Limits{Charge: func(*lua.LState, int64) {}})
	compile := func(source string) (*lua.FunctionProto, error) {
		return c.Compile(context.Background(), "test", source)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if got, want := results(compile, source), "215528xyznil"; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wait.Wait()
}

// FuzzCompile searches for sources that make a stage panic, or that take long
// within all limits. It never runs them.
func FuzzCompile(f *testing.F) {
	for _, tt := range translations {
		f.Add(tt.source)
	}
	for seed := range uint64(20) {
		f.Add(program(seed, false))
	}
	f.Add("#!x\nreturn ...")
	f.Add("for a,b in f do goto x local y ::x:: end")
	c := New(Limits{SourceBytes: 4096, Work: 2_000_000, CacheBytes: -1})
	f.Fuzz(func(t *testing.T, source string) {
		proto, err := c.Compile(context.Background(), "fuzz", source)
		var refused *SyntaxError
		switch {
		case err == nil:
			if proto == nil || len(proto.Code) == 0 {
				t.Error("neither code nor error")
			}
		case !errors.As(err, &refused):
			t.Errorf("got %T, want a SyntaxError", err)
		case refused.Unwrap() != nil:
			t.Errorf("internal error: %v", refused.Unwrap())
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	source := program(7, false) + program(8, false)
	source = strings.ReplaceAll(source, "local n1", "n1") // both in one chunk
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(int64(len(source)))
		for b.Loop() {
			if _, err := plain(source); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, limits := range map[string]Limits{"compile": {CacheBytes: -1}, "cached": {}} {
		b.Run(name, func(b *testing.B) {
			c := New(limits)
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				if _, err := c.Compile(b.Context(), "program", source); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
