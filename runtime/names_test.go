package runtime_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// namesPrelude declares what the operands of the cases below need.
const namesPrelude = `
	local up, upnum, uptab = nil, 5, {}
	glob, globnum, globtab = nil, 5, {}
	local function none() end
	local function give(v) return v end
`

// operands are expressions, by the value they have.
var operands = map[string][]string{
	"nil": {
		"loc", "up", "glob", "tab.field", "tab.a.b", "globtab.field", "uptab.field", "tab['field']", "tab[key]", "tab[1]",
		"none()", "give(nil)", "(loc)", "par", "tab.long_name_of_a_field_that_is_not_there", "late", "tab[loc2]", "(nil)",
	},
	"table":   {"tab", "uptab", "globtab", "tab.a", "{}", "give({})"},
	"boolean": {"flag", "(true)", "tab.flag"},
	"string":  {"text", "('x')", "tab.text"},
	"number":  {"num", "upnum", "globnum", "tab.num", "(1)"},
}

// nameCases returns statements that fail, for each operation and operand.
func nameCases() (cases []string) {
	add := func(format string, args ...any) { cases = append(cases, fmt.Sprintf(format, args...)) }
	for kind, expressions := range operands {
		for _, e := range expressions {
			if kind != "table" && kind != "string" {
				prefix := e
				if strings.HasPrefix(e, "(") || strings.HasPrefix(e, "{") {
					prefix = "(" + e + ")"
				}
				add("return %s.x", prefix)
				add("return %s.x.y", prefix)
				add("return %s[num]", prefix)
				add("local t = %s; t.x = 1", e)
				add("return %s:method(1, 2)", prefix)
				if e != "(1)" { // which gopher-lua assigns to without a word
					add("%s.x = 5", prefix)
				}
				add("local a, b = 1, %s.x", prefix)
				add("num, tab.num = 3, %s.x", prefix)
			}
			if kind != "string" {
				add("return %s()", "("+e+")")
				add("local r = (%s)(1, loc)", e)
				add("none(1, (%s)(tab))", e)
			}
			if kind != "number" {
				add("return %s + 1", e)
				add("return 1 - %s", e)
				add("return num * %s", e)
				add("return %s / num", e)
				add("return -%s", e)
				add("return upnum ^ (%s %% globnum)", e)
				add("num = num + %s", e)
				add("local t = { 1, %s + 1 }", e)
				add("if num > 1 and %s + 1 > 2 then end", e)
				add("return num < %s", e)
				add("return num >= %s", e)
				add("return %s <= num", e)
				add("while num > %s do end", e)
				add("for i = %s, 2 do end", e)
				add("for i = 1, %s do end", e)
				add("for i = 1, 2, %s do end", e)
			}
			if kind != "string" && kind != "number" {
				add("return 'a' .. %s", e)
				add("return %s .. 'b'", e)
				add("return 'a' .. num .. %s .. text", e)
				add("num = text .. %s .. tab.text", e)
				add("return %s < %s", e, e)
				add("return tab < %s", e)
			}
			if kind != "string" && kind != "table" {
				add("return #%s", e)
				add("return 1 + #%s", e)
			}
		}
	}
	for _, method := range []string{"missing", "num", "a", "long_name_that_is_not_there"} {
		for _, object := range []string{"tab", "uptab", "globtab", "tab.a", "give({})", "text"} {
			add("return %s:%s(1, 2)", object, method)
			add("local x = %s:%s()", object, method)
			add("%s.%s.z = 1", object, method)
		}
	}
	return cases
}

// nameFunction is the function in which a case is tried.
func nameFunction(statement string) string {
	return "(function(par)\n local loc, loc2, num, flag, text, key = nil, nil, 5, true, 'x', 'k'\n" +
		" local tab = { a = {}, num = 5, flag = true, text = 'x' }\n local late\n do " + statement + " end\nend)"
}

// referenceMessages returns the messages of lua5.1.
func referenceMessages(t *testing.T, cases []string) []string {
	t.Helper()
	path, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Fatal("this test needs the reference interpreter: apt-get install -y lua5.1")
	}
	var script strings.Builder
	script.WriteString(namesPrelude)
	for _, c := range cases {
		fmt.Fprintf(&script, "print((tostring((select(2, pcall(%s)))):gsub('^[^:]*:%%d+: ', '')))\n", nameFunction(c))
	}
	cmd := exec.Command(path, "-")
	cmd.Stdin = strings.NewReader(script.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("lua5.1: %v\n%s", err, stderr.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// luasOwn matches what Lua says too of a message: behind it stands what was
// probably meant, or what the value is.
var luasOwn = regexp.MustCompile(`^attempt to compare (two \w+ values|\w+ with \w+)|^attempt to .*? value\b\)?|^'for' [a-z ]+`)

func withoutHints(message string) string {
	if own := luasOwn.FindString(message); own != "" {
		return strings.TrimSpace(own)
	}
	return message
}

func TestMessagesNameVariablesAsLuaDoes(t *testing.T) {
	cases := nameCases()
	want := referenceMessages(t, cases)
	if len(want) != len(cases) {
		t.Fatalf("lua5.1 has %d messages of %d cases", len(want), len(cases))
	}
	var script strings.Builder
	script.WriteString(namesPrelude + "local out = {}\n")
	for _, c := range cases {
		fmt.Fprintf(&script, "out[#out + 1] = (tostring((select(2, pcall(%s)))):gsub('^[^:]*:%%d+: ', ''))\n", nameFunction(c))
	}
	script.WriteString("return out")
	inFakeTime(t, func(t *testing.T, h *harness) {
		var got []string
		if err := json.Unmarshal([]byte(h.mustRun(t, "a", script.String())), &got); err != nil {
			t.Fatal(err)
		}
		failures := 0
		for i, c := range cases {
			if withoutHints(got[i]) != want[i] {
				if failures++; failures < 60 {
					t.Errorf("%s:\n got  %s\n want %s", c, got[i], want[i])
				}
			}
		}
		t.Logf("%d of %d differ", failures, len(cases))
	})
}
