package lualib

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// renderScript renders results in the reference interpreter as render does here.
const renderScript = `
local function render(v)
  if type(v) == "number" then
    if v ~= v then return "nan" end
    return string.format("%.17g", v)
  elseif type(v) == "string" then
    return '"' .. v:gsub("[%c\\\128-\255]", function(c) return string.format("\\%03d", c:byte()) end) .. '"'
  elseif type(v) == "nil" or type(v) == "boolean" then return tostring(v) end
  return type(v)
end
local function answer(ok, ...)
  if not ok then
    print("error: " .. (tostring((...)):gsub("^[^:\n]*:%d+: ", "")))
    return
  end
  local out = {}
  for i = 1, select("#", ...) do out[i] = render((select(i, ...))) end
  print(table.concat(out, " "))
end
for _, f in ipairs(cases) do answer(pcall(f)) end
`

// agree compares the values of expressions here and in the reference interpreter.
func agree(t *testing.T, expressions []string) {
	t.Helper()
	path, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Fatal("this test needs the reference interpreter: apt-get install -y lua5.1")
	}
	var script strings.Builder
	script.WriteString("local cases = {}\n")
	for _, e := range expressions {
		fmt.Fprintf(&script, "cases[#cases + 1] = function() %s end\n", statement(e))
	}
	script.WriteString(renderScript)
	cmd := exec.Command(path, "-")
	cmd.Env = []string{"TZ=UTC", "LC_ALL=C"}
	cmd.Stdin = strings.NewReader(script.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("lua5.1: %v\n%s", err, stderr.String())
	}
	results := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(results) != len(expressions) {
		t.Fatalf("lua5.1 returned %d results of %d expressions", len(results), len(expressions))
	}
	run := newRun(t, vm.Limits{})
	failures := 0
	for i, e := range expressions {
		got := argumentName.ReplaceAllString(do(t, run, statement(e)), "")
		if want := results[i]; got != want {
			t.Errorf("%s: got %s, want %s", e, got, want)
			if failures++; failures == 20 {
				t.Fatal("and more")
			}
		}
	}
}

// argumentName matches what Lua doesn't say: which variable an argument was.
var argumentName = regexp.MustCompile(`: (local|field|global|upvalue) '.*' is nil$`)

// statement returns an expression as a chunk, and a chunk as it is.
func statement(expression string) string {
	chunk := "return " + expression
	if _, err := compiler.Compile(context.Background(), "test", chunk); err != nil {
		return expression
	}
	return chunk
}

// Pools of arguments.
var (
	anyValues = []string{"nil", "true", "{}", "type", `""`, `"x"`, "1", "-1.5"}
	texts     = []string{`""`, `"a"`, `"hello world"`, `"Hello, World 42"`, `"a,b,,c"`, `"  x  "`, `"\0\1\127\128\255"`,
		`"a\0b"`, `"aAzZ09_-"`, `"12"`, `"%d%%"`, `"key = value; k2=v2"`, "12", "-0.5", "1e10"}
	whole = []string{"0", "1", "2", "3", "5", "-1", "-2", "-5", "-100", "100", "1.9", "-1.9", `"2"`, `" 3 "`, `"0x2"`,
		"1e6", "-1e6", "nil"}
	numbers = []string{"0", "1", "-1", "0.5", "-0.5", "2", "10", "100.25", "1e10", "-1e10", "1e300", "1e-300", "1/0", "-1/0",
		"0/0", `"7"`, `"-0x10"`, "3.14159", "2^31", "1e10+0.25"}
	patterns = []string{`""`, `"a"`, `"."`, `".-"`, `".*"`, `"%a+"`, `"%w*"`, `"(%w+)"`, `"(%w+) = (%w+)"`, `"()"`, `"[^,]*"`,
		`"%s+"`, `"^%s*(.-)%s*$"`, `"l"`, `"lo"`, `"%z"`, `"[%z%c]"`, `"("`, `"%"`, `"[a"`, `"%1"`, `"(a)(b)%1"`, `"%f[%a]%a+"`,
		`"$"`, `"^"`, `"o$"`, `"%d?"`, `"(.)(.)"`, `"%b()"`, `"-"`, `"]"`, `")"`}
	replacements = []string{`""`, `"x"`, `"<%0>"`, `"%1%1"`, `"%2"`, `"%%"`, `"%"`, `"%a"`, "12", "0.5", "{}", `{a="A", l="L", hello=1}`,
		"string.upper", "function() end", "function(a, b) return b end", "function() return {} end", "function(a) return false end", "nil", "true"}
	formats = []string{"%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%8.3d", "%i", "%u", "%x", "%X", "%#x", "%#o", "%o", "%#08o", "%#.0o", "%.0d",
		"%e", "%.2e", "%E", "%f", "%.0f", "%#.0f", "%10.3f", "%-10.3f|", "%+.1f", "%010.2f", "%g", "%.3g", "%#g", "%G", "%#.3g", "%.14g", "%.17g", "%.99f",
		"%c", "%5c", "%-3c|", "%s", "%10s", "%-10s|", "%.3s", "%5.1s", "%q", "%%", "%", "%y", "%123d", "%.123d", "%-+ #0d", "%-+ #0-d", "%5", "a%db%sc"}
)

// calls returns n calls of a function with arguments from the pools. Some leave
// the last ones out, some have wrong ones.
func calls(r *rand.Rand, n int, name string, pools ...[]string) []string {
	made := make([]string, n)
	for i := range made {
		arguments := make([]string, len(pools))
		for j, pool := range pools {
			arguments[j] = pool[r.IntN(len(pool))]
			if r.IntN(25) == 0 {
				arguments[j] = anyValues[r.IntN(len(anyValues))]
			}
		}
		if r.IntN(4) == 0 {
			arguments = arguments[:r.IntN(len(arguments)+1)]
		}
		made[i] = name + "(" + strings.Join(arguments, ", ") + ")"
	}
	return made
}

func TestFunctionsAgreeWithLua51OnGeneratedArguments(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 4))
	lists := []string{"{}", "{1,2,3}", `{"a","b","c"}`, `{"b",3,"a",1.5}`, "{1,2,nil,4}", "{n=1}", "{3,1,2,[0]=7,[-1]=9,[2.5]=1}", `setmetatable({5,4}, {})`}
	dense := append(lists[:4:4], lists[5:]...)
	const n = 400
	var all []string
	for _, c := range []struct {
		name  string
		pools [][]string
	}{
		{"string.byte", [][]string{texts, whole, whole}},
		{"string.char", [][]string{{"0", "65", "255", "256", "-1", `"66"`, "97.9"}, {"0", "65", "1e10"}}},
		{"string.find", [][]string{texts, patterns, whole, {"true", "false", "nil"}}},
		{"string.match", [][]string{texts, patterns, whole}},
		{"string.gsub", [][]string{texts, patterns, replacements, whole}},
		{"string.len", [][]string{texts}},
		{"string.lower", [][]string{texts}},
		{"string.upper", [][]string{texts}},
		{"string.reverse", [][]string{texts}},
		{"string.rep", [][]string{texts, {"0", "1", "2", "-1", "17", "1.9", `"3"`, "-1/0", "0/0"}}},
		{"string.sub", [][]string{texts, whole, whole}},
		{"collect", [][]string{texts, patterns}},
		{"tonumber", [][]string{append(numbers, `"1e5"`, `"010"`, `"0x1F"`, `"0x1p4"`, `"0x.8"`, `"1e"`, `"1 2"`, `" 12\n"`, `""`, `"."`, `"1_0"`, `"0b1"`, `"5e-07"`, `"--1"`, `"+1"`, `"0x"`, `"1e400"`)}},
		{"tonumber", [][]string{{`"10"`, `"ff"`, `"FF "`, `"zz"`, `"0x1f"`, `"8"`, `""`, `" 7"`, `"1.5"`, "10"}, {"2", "8", "10", "16", "36", "1", "37", `"16"`, "nil"}}},
		{"tostring", [][]string{append(numbers[:14:14], "nil", "true", `"x"`, `setmetatable({}, {__tostring = function() return 7 end})`)}},
		{"type", [][]string{anyValues}},
		{"select", [][]string{append(whole, `"#"`, `"x"`), anyValues, anyValues}},
		{"rawequal", [][]string{anyValues, anyValues}},
		{"rawget", [][]string{lists, whole}},
		{"assert", [][]string{anyValues, {"nil", `"m"`, "12"}}},
		{"unpack", [][]string{lists, {"1", "2", "-1", "nil", "0"}, {"1", "3", "0", "nil", "5"}}},
		{"keys", [][]string{lists}},
		{"elements", [][]string{lists}},
		{"table.concat", [][]string{lists, {`","`, `""`, "1", "nil"}, {"1", "2", "0", "nil", "-1"}, {"1", "3", "nil", "0", "5"}}},
		{"table.maxn", [][]string{lists}},
		{"table.getn", [][]string{lists}},
		{"inserted", [][]string{dense, {"1", "2", "3", "4", `"x"`}, {`"new"`, "7"}}},
		{"removed", [][]string{dense, whole}},
		{"sorted", [][]string{lists, {"nil", "function(a, b) return tostring(a) > tostring(b) end", "1"}}},
		{"math.abs", [][]string{numbers}}, {"math.floor", [][]string{numbers}}, {"math.ceil", [][]string{numbers}},
		{"math.sqrt", [][]string{numbers}}, {"math.fmod", [][]string{numbers, numbers}}, {"math.modf", [][]string{numbers}},
		{"math.frexp", [][]string{{"0", "1", "-3.5", "1e300", "1e-310"}}}, {"math.ldexp", [][]string{numbers, {"0", "1", "-1", "10", "2000", "-3000", "1.5"}}},
		{"math.max", [][]string{numbers, numbers, numbers}}, {"math.min", [][]string{numbers, numbers, numbers}},
		{"math.deg", [][]string{numbers}}, {"math.rad", [][]string{numbers}},
		{"os.difftime", [][]string{{"0", "100", "1.5"}, {"0", "7"}}},
		{"stamp", [][]string{{"0", "86399", "951782400", "1e9", "2^31", "-1", "-86400", "1230768000", "1483228800", "253402300799"}}},
		{"os.time", [][]string{{"{year=2020,month=1,day=1}", "{year=1999,month=14,day=-3,hour=30}", `{year="2000",month="2",day="30",min=90,sec=-5}`, "{year=2020,month=1}", "{year=1969,month=12,day=31,hour=0,isdst=false}"}}},
	} {
		all = append(all, calls(r, n, c.name, c.pools...)...)
	}
	for range 6 * n {
		format := formats[r.IntN(len(formats))]
		arguments := []string{"1", "-1", "0.5", "-0.5", "2", "100.25", "65", `"7"`, `"-0x10"`, "3.14159", "-77.7", "2^31", `"text"`, `"a\nb"`, `""`}
		switch { // lua5.1 ends these at a zero byte
		case strings.Contains(format, "q"):
			arguments = append(arguments, `"a\nb\"c\\\0d\r"`)
		case strings.Contains(format, "c") && !strings.Contains(format, "s"):
			arguments = []string{"65", `"97"`, "100.25", `"text"`}
		}
		if strings.ContainsAny(format, "eEfgG") {
			arguments = append(arguments, "0", "1e10", "1e300", "-1e-300", "1/0", "-1/0", "123456.789", "1e15", "0.0001")
		}
		all = append(all, fmt.Sprintf("string.format(%q, %s, %s)", format, arguments[r.IntN(len(arguments))], arguments[r.IntN(len(arguments))]))
	}
	for _, f := range strings.Fields("sin cos tan asin acos atan exp log10 sinh cosh tanh pow atan2") {
		for range n / 8 {
			x, y := numbers[r.IntN(len(numbers))], numbers[r.IntN(12)]
			all = append(all, fmt.Sprintf("string.format('%%.12g', math.abs(math.%s(%s, %s)))", f, x, y))
		}
	}
	for _, x := range numbers { // with a second argument log is Lua 5.2's
		all = append(all, fmt.Sprintf("string.format('%%.12g', math.abs(math.log(%s)))", x))
	}
	all = slices.DeleteFunc(all, func(e string) bool { return differs.MatchString(e) })
	for i, e := range all {
		all[i] = helpers(e)
	}
	agree(t, all)
}

// differs matches the calls whose result differs on purpose: identities, assert
// with a message that isn't a string, which of two bad arguments is named; and
// those that return the present time.
var differs = regexp.MustCompile(`^tostring\((\{\}|type)|^assert\(nil, (true|type|\{\})|^math.fmod\((type)?\)|^(stamp|os.time)\((nil)?\)`)

// helpers adds the definition of the helper function that a call uses.
func helpers(expression string) string {
	definition := map[string]string{
		"collect(":  `local function collect(s, p) local out = "" for a, b in string.gmatch(s, p) do out = out .. "<" .. tostring(a) .. "," .. tostring(b) .. ">" end return out end `,
		"keys(":     `local function keys(t) local n, sum = 0, 0 for k, v in pairs(t) do n = n + 1 sum = sum + (tonumber(k) or 100) end return n, sum end `,
		"elements(": `local function elements(t) local n = 0 for i, v in ipairs(t) do n = n + i end return n end `,
		"inserted(": `local function inserted(t, ...) table.insert(t, ...) return t[1], t[2], t[3], t[4], t[5] end `,
		"removed(":  `local function removed(t, ...) local function keep(...) return select("#", ...), ... end return keep(table.remove(t, ...)), #t, t[1], t[2], t[3] end `,
		"sorted(":   `local function sorted(t, f) table.sort(t, f) return t[1], t[2], t[3], t[4] end `,
		"stamp(":    `local function stamp(at) local t = os.date("!*t", at) return os.date("!%c|%x|%X|%p|%j|%U|%W|%y|%D|%e|%F|%g|%G|%h|%n|%r|%R|%t|%T|%u|%V|%z|%C|%a|%A|%b|%B|%d|%H|%I|%m|%M|%S|%w|%Y|%%|%Q", at), t.year, t.month, t.day, t.hour, t.min, t.sec, t.wday, t.yday, t.isdst end `,
	}
	for call, text := range definition {
		if strings.HasPrefix(expression, call) {
			return text + "return " + expression
		}
	}
	return "return " + expression
}
