package pattern

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// find renders what string.find returns for a pattern: positions and captures,
// "nil", or the error.
func find(subject, source string, from int) string {
	var m Matcher
	p := Compile(source, true, unmetered{})
	if IsLiteral(source) {
		p = Literal(source)
	}
	m.Reset(p, subject, unmetered{})
	found, err := m.Find(from)
	if err != nil {
		return err.Error()
	}
	if !found {
		return "nil"
	}
	return fmt.Sprint(m.Start()+1, " ", m.End(), captures(&m))
}

func captures(m *Matcher) string {
	var b strings.Builder
	for i := range m.pattern.captures {
		text, position, err := m.Capture(i)
		switch {
		case err != nil:
			return " " + err.Error()
		case position > 0:
			fmt.Fprintf(&b, " @%d", position)
		default:
			fmt.Fprintf(&b, " %q", text)
		}
	}
	return b.String()
}

func TestFindMatchesAsInLua51(t *testing.T) {
	for _, c := range []struct{ subject, pattern, want string }{
		{"hello world", "o w", "5 7"},
		{"hello world", "l+", "3 4"},
		{"hello", "", "1 0"},
		{"hello", "()ll()", "3 4 @3 @5"},
		{"key = value", "^(%w+)%s*=%s*(%w+)$", `1 11 "key" "value"`},
		{"  trim  ", "^%s*(.-)%s*$", `1 8 "trim"`},
		{"THE (quick) fox", "%((%a+)%)", `5 11 "quick"`},
		{"THE (quick) fox", "%f[%a]%a+", "1 3"},
		{"THE (quick) fox", "%f[%a]%l+%f[%A]", "6 10"},
		{"f(a(b)c)d", "%b()", "2 8"},
		{"x==x", "(.)(=+)%1", `1 4 "x" "=="`},
		{"a.b", "a%.b", "1 3"},
		{"a-b]c", "[]-]+", "2 2"},
		{"a^b", "[b^]", "2 2"},
		{"abc", "[^%a]", "nil"},
		{"a$b", "a$b", "1 3"},
		{"ab", "b$", "2 2"},
		{"aaa", "a-b", "nil"},
		{"aaab", "a-b", "1 4"},
		{"**", "**", "1 2"},
		{"x\x00y", "%z", "2 2"},
		{"x\x00y", "\x00", "2 2"},
		{"aXb", "%u", "2 2"},
		{"abc", "((a)(b))", `1 2 "ab" "a" "b"`},
		{"abc", "%", "malformed pattern (ends with '%')"},
		{"abc", "[a", "malformed pattern (missing ']')"},
		{"abc", "[", "malformed pattern (missing ']')"},
		{"abc", "[]", "malformed pattern (missing ']')"},
		{"abc", "[a%", "malformed pattern (missing ']')"},
		{"abc", "x[a", "nil"},
		{"abc", "%bx", "unbalanced pattern"},
		{"abc", "%f", "missing '[' after '%f' in pattern"},
		{"abc", "a.)", "invalid pattern capture"},
		{"abc", "%1", "invalid capture index"},
		{"abc", "%0", "invalid capture index"},
		{"abc", "(a%1)", "invalid capture index"},
		{"abc", "(a", "1 1 unfinished capture"},
		{"abc", "()%1", "nil"},
		{"abc", strings.Repeat("()", 33), "too many captures"},
		{"abc", "^b", "nil"},
	} {
		if got := find(c.subject, c.pattern, 0); got != c.want {
			t.Errorf("find(%q, %q): got %s, want %s", c.subject, c.pattern, got, c.want)
		}
	}
}

// fragments are the parts of generated patterns; some are malformed on purpose.
var fragments = strings.Fields(`a b c . %a %d %s %w %W %. %% [ab] [^a] [a-c] [%d_] []] [^]a] [a-] - * + ? * + - ?
	( ) ( ) () %1 %2 %b() %bab %f[%a] %f[^a] ^ $ [ % %f %b %g %z %Z aa x1 _`)

func generate(r *rand.Rand) (subject, pattern string) {
	const alphabet = "aabbcc() _1.%]-"
	var s, p strings.Builder
	for range r.IntN(14) {
		s.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	for range 1 + r.IntN(7) {
		p.WriteString(fragments[r.IntN(len(fragments))])
	}
	return s.String(), p.String()
}

// referenceScript renders each case as find does.
const referenceScript = `
for _, c in ipairs(cases) do
  local r = { pcall(string.find, c[1], c[2], c[3] + 1) }
  if not r[1] then print((r[2]:gsub("^[^:]*:%d+: ", "")))
  elseif r[2] == nil then print("nil")
  else
    local out = { r[2] .. " " .. r[3] }
    for i = 4, #r do out[#out + 1] = type(r[i]) == "number" and "@" .. r[i] or '"' .. r[i] .. '"' end
    print(table.concat(out, " "))
  end
end`

func TestFindAgreesWithLua51OnGeneratedPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	const n = 40_000
	var script strings.Builder
	script.WriteString("cases = {\n")
	type testCase struct {
		subject, pattern string
		from             int
	}
	cases := make([]testCase, n)
	for i := range cases {
		s, p := generate(r)
		cases[i] = testCase{s, p, r.IntN(len(s) + 1)}
		fmt.Fprintf(&script, "{%q,%q,%d},\n", s, p, cases[i].from)
	}
	script.WriteString("}\n" + referenceScript)
	results := strings.Split(lua51(t, script.String()), "\n")
	if len(results) != n+1 {
		t.Fatalf("lua5.1 returned %d results, want %d", len(results)-1, n)
	}
	for i, c := range cases {
		got := find(c.subject, c.pattern, c.from)
		if strings.HasSuffix(got, errUnfinishedCapture.Error()) {
			got = errUnfinishedCapture.Error() // lua5.1 gives no positions then
		}
		if got != results[i] {
			t.Errorf("find(%q, %q, %d): got %s, want %s", c.subject, c.pattern, c.from+1, got, results[i])
		}
	}
}

// lua51 runs a script with the reference interpreter.
func lua51(t *testing.T, script string) string {
	t.Helper()
	path, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Fatal("this test needs the reference interpreter: apt-get install -y lua5.1")
	}
	cmd := exec.Command(path, "-")
	cmd.Stdin = strings.NewReader(script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("lua5.1: %v\n%s", err, stderr.String())
	}
	return string(out)
}

// unmetered is a meter that counts nothing.
type unmetered struct{}

func (unmetered) Step(int)     {}
func (unmetered) Charge(int64) {}

// budget is a meter that panics after a number of steps.
type budget struct{ left int }

func (b *budget) Charge(int64) {}

func (b *budget) Step(n int) {
	if b.left -= n; b.left < 0 {
		panic(b)
	}
}

// interrupted reports whether f runs out of steps.
func interrupted(steps int, f func(Meter)) (stopped bool) {
	b := &budget{left: steps}
	defer func() {
		if p := recover(); p != nil {
			if p != any(b) {
				panic(p)
			}
			stopped = true
		}
	}()
	f(b)
	return false
}

func TestMatcherIsInterrupted(t *testing.T) {
	const steps = 20_000
	a := strings.Repeat("a", 1_000_000)
	for name, c := range map[string]struct{ subject, pattern string }{
		"backtracking":          {strings.Repeat("a", 60), strings.Repeat("a-", 12) + "b"},
		"a greedy repetition":   {a, "^.*b"},
		"several of them":       {a, "^(.*)(.*)(.*)b"},
		"a set":                 {a, "^[ab]*c"},
		"a back reference":      {a, "(a*)%1b"},
		"balanced brackets":     {strings.Repeat("(", 100_000), "%b()"},
		"every position":        {a, "[b]"},
		"a literal":             {strings.Repeat(a, 20), "b"},
		"a long literal":        {strings.Repeat("ab", 200_000), strings.Repeat("ab", 100_000) + "b"},
		"a frontier":            {a, "%f[b]"},
		"compiling":             {"x", "x" + strings.Repeat("%a", 1_000_000)},
		"compiling a set":       {"x", "[" + strings.Repeat("y", 1_000_000) + "]"},
		"compiling an open set": {"x", "[" + strings.Repeat("y", 1_000_000)},
	} {
		if !interrupted(steps, func(meter Meter) {
			var m Matcher
			m.Reset(Compile(c.pattern, true, meter), c.subject, meter)
			_, _ = m.Find(0)
		}) {
			t.Errorf("%s was not interrupted after %d steps", name, steps)
		}
	}
}

func TestHostilePatternsTakeNoStackAndFewSteps(t *testing.T) {
	for name, c := range map[string]struct{ subject, pattern, want string }{
		"open parentheses": {"x", strings.Repeat("(", 5_000_000), "too many captures"},
		"optional items":   {"x", strings.Repeat("a?", 20_000) + "x", "1 1"},
		"lazy items":       {"x", strings.Repeat("a-", 20_000) + "x", "1 1"},
		"one long run":     {strings.Repeat("a", 990_000), "^.*a", "1 990000"},
	} {
		if interrupted(1_000_000, func(meter Meter) {
			var m Matcher
			m.Reset(Compile(c.pattern, true, meter), c.subject, meter)
			found, err := m.Find(0)
			got := fmt.Sprint(m.Start()+1, " ", m.End())
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: got %s (found %v), want %s", name, got, found, c.want)
			}
		}) {
			t.Errorf("%s took more than a million steps", name)
		}
	}
}

func TestMatcherFindsAllMatches(t *testing.T) {
	var m Matcher
	m.Reset(Compile("^a*", false, unmetered{}), "^aa^b", unmetered{})
	var got []string
	for at := 0; at <= len(m.subject); at = m.Next() {
		found, err := m.Find(at)
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			break
		}
		text, _, _ := m.Capture(0)
		got = append(got, text)
	}
	if want := "[^aa ^]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestIndexFindsTextAcrossItsWindows(t *testing.T) {
	for _, n := range []int{1, 2, windowBytes, windowBytes + 1, 3 * windowBytes} {
		text := strings.Repeat("b", n-1) + "c"
		for _, before := range []int{0, 1, windowBytes - 1, windowBytes, 2*windowBytes - n/2} {
			if before < 0 {
				continue
			}
			s := strings.Repeat("b", before) + text + "tail"
			if got, want := Index(s, text, 0, unmetered{}), strings.Index(s, text); got != want {
				t.Errorf("text of %d bytes behind %d: got %d, want %d", n, before, got, want)
			}
			if got := Index(s, text+"x", 0, unmetered{}); got != -1 {
				t.Errorf("absent text of %d bytes: got %d, want -1", n+1, got)
			}
		}
	}
}

func TestMatcherAllocatesNothingForCommonPatterns(t *testing.T) {
	var m Matcher
	p := Compile("^(%w+)%s*=%s*(%w+)$", true, unmetered{})
	if got := testing.AllocsPerRun(100, func() {
		m.Reset(p, "key = value", unmetered{})
		_, _ = m.Find(0)
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
