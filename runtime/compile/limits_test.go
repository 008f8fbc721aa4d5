package compile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// series joins what format makes of 1 to n.
func series(n int, format, separator string) string {
	var parts []string
	for i := 1; i <= n; i++ {
		parts = append(parts, fmt.Sprintf(format, i))
	}
	return strings.Join(parts, separator)
}

func TestLimitsAreExact(t *testing.T) {
	rep := strings.Repeat
	tests := []struct {
		name   string
		source func(n int) string
		max    int
		want   string // in the error for max+1
	}{
		{"source bytes", func(n int) string { return rep(" ", n) }, 1000, "source has 1001 bytes (limit is 1000)"},
		{"parentheses", func(n int) string { return "x = " + rep("(", n) + "1" + rep(")", n) }, 20, "test:1: chunk has too many syntax levels (limit is 20) near '('"},
		{"blocks", func(n int) string { return rep("do ", n) + rep("end ", n) }, 20, "test:1: chunk has too many syntax levels (limit is 20) near 'do'"},
		{"functions in functions", func(n int) string { return rep("local function f() ", n-1) + "g()" + rep(" end", n-1) }, 20, "syntax levels"},
		{"tables in tables", func(n int) string { return "x = " + rep("{", n) + rep("}", n) }, 20, "syntax levels"},
		{"plus", func(n int) string { return "x = y" + rep(" + 1", n) }, 30, "test:1: expression has too many operators (limit is 30) near '+'"},
		{"not", func(n int) string { return "x = " + rep("not ", n) + "y" }, 30, "operators (limit is 30) near 'not'"},
		{"nested concatenation", func(n int) string { return "x = " + rep("y .. (", n/2) + "1" + rep(" + 1", n-n/2) + rep(")", n/2) }, 30, "too many operators (limit is 30)"},
		{"fields", func(n int) string { return "x = y" + rep(".z", n) }, 30, "test:1: expression or elseif chain is too long (limit is 30)"},
		{"calls", func(n int) string { return "y" + rep("()", n) }, 30, "too long (limit is 30)"},
		{"methods", func(n int) string { return "y" + rep(":z()", n) }, 30, "too long (limit is 30)"},
		{"elseif", func(n int) string { return "if x then " + rep("elseif x then ", n) + "end" }, 30, "elseif chain is too long (limit is 30)"},
		{"constants", func(n int) string { return "return {" + series(n, "%d", ",") + "}" }, 50, "main function has too many constants (limit is 50)"},
		{"constants of a function", func(n int) string { return "\nlocal function f() return {" + series(n, "'%d'", ",") + "} end" }, 50, "test:2: function at line 2 has too many constants (limit is 50)"},
		{"functions", func(n int) string { return rep("local function f() end ", n-1) }, 10, "chunk has too many functions (limit is 10)"},
		{"local variables", func(n int) string { return "\nlocal function f() local " + series(n, "v%d", ",") + " end" }, localsMax - 1, ""},
		{"local variables, too many", func(n int) string { return "\nlocal function f() local " + series(n, "v%d", ",") + " end" }, localsMax, "test:2: function at line 2 has too many local variables (limit is 200)"},
		{"upvalues", func(n int) string {
			return "local " + series(n, "v%d", ",") + "\nreturn function() return " + series(n, "v%d", ",") + " end"
		}, upvaluesMax, "test:2: function at line 2 has too many upvalues (limit is 60)"},
		{"upvalues in transit", func(n int) string {
			names := strings.Split(series(n, "v%d", ","), ",")
			return "local " + strings.Join(names, ",") + "\nreturn function()\nf(function() return " +
				strings.Join(names[:n/2], ",") + " end, function() return " + strings.Join(names[n/2:], ",") + " end) end"
		}, upvaluesMax, "test:2: function at line 2 has too many upvalues (limit is 60)"},
		{"table items", func(n int) string { return "return {" + rep("1,", n) + "}" }, positionalMax, "test:1: table constructor has too many items (limit is 25550)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limits := Limits{}
			switch tt.max { // by its value, which each limit has alone
			case 1000:
				limits.SourceBytes = 1000
			case 20:
				limits.Nesting = 20
			case 30:
				limits.Operators = 30
			case 50:
				limits.Constants = 50
			case 10:
				limits.Functions = 10
			}
			compiler := New(limits)
			if _, err := compiler.Compile(context.Background(), "test", tt.source(tt.max)); err != nil && !strings.HasPrefix(tt.name, "local variables") {
				t.Errorf("at the limit: %v", err)
			}
			if tt.want == "" {
				return
			}
			_, err := compiler.Compile(context.Background(), "test", tt.source(tt.max+1))
			var refused *SyntaxError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("over the limit: got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// The quadratic loops of gopher-lua are bounded by counting their steps, so
// these are refused however fast the machine is.
func TestWorkLimitRefusesQuadraticSources(t *testing.T) {
	rep := strings.Repeat
	tests := []struct {
		name, source string
		work         int
	}{
		{"one late constant often", series(7000, "a = %d0", " ") + rep(" a = 70000", 7000), 50_000_000},
		{"globals behind many locals", rep("local "+series(190, "v%d", ",")+" do local function f() ", 60) + rep("x = y ", 5000) + rep("end end ", 60), 50_000_000},
		{"labels in a row", series(50_000, "::l%d::", " "), 50_000_000},
		{"labels and gotos", series(20_000, "::l%d:: goto l%[1]d", " "), 50_000_000},
		{"sums of constants", rep("x = y"+rep(" + 1", 990)+" ", 150), 50_000_000},
		{"gotos out of many blocks", rep("do ", 190) + rep("goto out ", 1000) + rep("end ", 190) + "::out::", 300_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(Limits{SourceBytes: 1 << 20, Work: tt.work}).Compile(context.Background(), "test", tt.source)
			if want := fmt.Sprintf("chunk is too complex (limit is %d steps of the compiler)", tt.work); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCompileRefusesFunctionsTooLongForAJump(t *testing.T) {
	rep := strings.Repeat
	tests := []struct{ name, source, want string }{
		{"instructions", "local a, n = 1, 0 for i = 1, 2 do " + rep("a=a ", codeMax) + "n = n + 1 end return n", "function has too many instructions"},
		{"jump targets", "local a " + rep("if a then end ", codeMax/3+1), "main function has too many jumps (limit is 131071)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(Limits{SourceBytes: 1 << 20}).Compile(context.Background(), "test", tt.source)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// scriptRun is the result of a script in testdata.
type scriptRun struct {
	printed []string
	refused []string // errors of loadstring
	loaded  int      // sources that loadstring compiled
	err     error
}

// runScript runs a script of testdata with a loadstring that uses limits too.
func runScript(t *testing.T, file string, limits Limits) scriptRun {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	compiler := New(limits)
	proto, err := compiler.Compile(t.Context(), file, string(source))
	if err != nil {
		t.Fatal(err)
	}
	L := lua.NewState()
	defer L.Close()
	var run scriptRun
	L.SetGlobal("print", L.NewFunction(func(L *lua.LState) int {
		var line []string
		for i := 1; i <= L.GetTop(); i++ {
			line = append(line, L.ToStringMeta(L.Get(i)).String())
		}
		run.printed = append(run.printed, strings.Join(line, "\t"))
		return 0
	}))
	L.SetGlobal("loadstring", L.NewFunction(func(L *lua.LState) int {
		proto, err := compiler.Compile(t.Context(), "loaded", L.CheckString(1))
		if err != nil {
			run.refused = append(run.refused, err.Error())
			L.Push(lua.LNil)
			L.Push(lua.LString(err.Error()))
			return 2
		}
		run.loaded++
		L.Push(L.NewFunctionFromProto(proto))
		return 1
	}))
	L.SetContext(newCountdown(2 * stepsMax))
	L.Push(L.NewFunctionFromProto(proto))
	run.err = L.PCall(0, 0, nil)
	return run
}

func TestHostileSourcesAreRefusedByTheirStage(t *testing.T) {
	const levels, operators = "too many syntax levels", "too many operators"
	tests := []struct {
		file string
		want []string // in the errors of loadstring
	}{
		{"nested_tables.lua", []string{levels}},
		{"nested_not.lua", []string{operators}},
		{"nested_parens.lua", []string{levels}},
		{"plus_chain_30k.lua", []string{operators}},
		{"plus_chain_10k.lua", []string{operators}},
		{"plus_chain_3k.lua", []string{operators}},
		{"labels.lua", []string{"too complex"}},
		{"operator_chains.lua", []string{operators, operators, operators}},
		{"blocks.lua", []string{levels, levels, "elseif chain is too long"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			run := runScript(t, tt.file, Limits{SourceBytes: 64 << 20})
			if run.err != nil || run.loaded != 0 || len(run.refused) != len(tt.want) {
				t.Fatalf("got %v, %d loaded, refused %q", run.err, run.loaded, run.refused)
			}
			for i, want := range tt.want {
				if !strings.Contains(run.refused[i], want) {
					t.Errorf("got %q, want %q in it", run.refused[i], want)
				}
			}
		})
	}
	run := runScript(t, "nested_tables.lua", Limits{})
	if len(run.refused) != 1 || !strings.Contains(run.refused[0], "source has 4000007 bytes (limit is 524288)") {
		t.Errorf("by default: got %q", run.refused)
	}
}

func TestTranslationPrintsWhatLuaPrints(t *testing.T) {
	for _, name := range []string{"assignments", "last_param", "dead_branch", "dead_branches"} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name+".want"))
			if err != nil {
				t.Fatal(err)
			}
			run := runScript(t, name+".lua", Limits{})
			var got strings.Builder
			for _, line := range run.printed {
				got.WriteString(line + "\n")
			}
			if run.err != nil || got.String() != string(want) {
				t.Errorf("got %v\n%s\nwant\n%s", run.err, got.String(), want)
			}
		})
	}
}

func TestTranslationCatchesAnErrorFarDownTheStack(t *testing.T) {
	run := runScript(t, "deep_error.lua", Limits{})
	if run.err != nil || len(run.printed) != 2 || !strings.HasPrefix(run.printed[0], "false\t") {
		t.Errorf("got %v, printed %q", run.err, run.printed)
	}
}
