package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// word is one that may not be part of an identifier, because the field has a
// better one: the glossary in ARCHITECTURE.md.
type word struct {
	old    string // lower case; two words of a name are joined: "handover". With a capital it is a whole name
	use    string
	within []string // rooms in which it is meant; everywhere if empty
}

var words = []word{
	{old: "hand", use: "clock.Dual, ElapsedMax, ElapsedMin"}, {old: "hands", use: "clock.Dual"},
	{old: "era", use: "epoch"}, {old: "stamp", use: "UnixMilli"}, {old: "window", use: "interval", within: []string{"native/lock"}},
	{old: "unsettled", use: "in doubt"}, {old: "settled", use: "resolved"}, {old: "settle", use: "resolve"},
	{old: "healed", use: "ambiguity resolved"}, {old: "heal", use: "ambiguity resolved"},
	{old: "kill", use: "interrupt", within: []string{"native/vm", "native", "runtime"}}, {old: "killed", use: "interrupt", within: []string{"native/vm", "native", "runtime"}},
	{old: "look", use: "poll", within: []string{"native/vm", "native", "native/stream"}}, {old: "gate", use: "CheckInterrupt"},
	{old: "stride", use: "poll interval"}, {old: "pace", use: "poll interval"}, {old: "handover", use: "yield"}, {old: "away", use: "parked", within: []string{"native/vm"}},
	{old: "guard", use: "memory watcher, policy: a guard is the lock's grace period", within: []string{"native/vm", "native/http", "runtime", "cmd/internal/wire"}},
	{old: "minded", use: "within limits"}, {old: "chooses", use: "victim"}, {old: "condemn", use: "evict"}, {old: "condemns", use: "evict"}, {old: "condemned", use: "evicted"},
	{old: "lastwords", use: "message handler"}, {old: "fill", use: "materialize", within: []string{"native/vm"}},
	{old: "give", use: "return", within: []string{"native", "runtime"}}, {old: "gives", use: "return", within: []string{"native", "runtime"}},
	{old: "account", use: "budget, run scope", within: []string{"native"}}, {old: "grower", use: "memory charger"}, {old: "growth", use: "memory charger", within: []string{"native", "native/vm"}},
	{old: "asking", use: "acquisition"}, {old: "asked", use: "acquire event, started"}, {old: "freeing", use: "release result"}, {old: "Listed", use: "lock info"},
	{old: "Found", use: "batch result", within: []string{"native/db"}}, {old: "listing", use: "query result"}, {old: "verdict", use: "transact result"},
	{old: "walk", use: "iterator", within: []string{"native/db", "native/module/dbmodule"}}, {old: "verb", use: "op kind", within: []string{"native/db"}},
	{old: "trouble", use: "classify, an error"}, {old: "about", use: "with context"},
	{old: "admission", use: "scheduler"}, {old: "seat", use: "slot"},
	{old: "hidden", use: "intrinsic", within: []string{"runtime/compile"}}, {old: "finisher", use: "bytecode patcher"},
	{old: "firing", use: "scheduler"}, {old: "planned", use: "due times"}, {old: "progress", use: "cursor", within: []string{"task/schedule"}},
	{old: "ticket", use: "waiter"}, {old: "intake", use: "bytes in flight"}, {old: "arriving", use: "counting reader"}, {old: "hurry", use: "force stop"},
	{old: "Keep", use: "retention", within: []string{"task"}}, {old: "life", use: "run context", within: []string{"task"}},
	{old: "piece", use: "item, chunk"}, {old: "pieces", use: "items, chunks"}, {old: "letter", use: "envelope", within: []string{"lambda", "task"}}, {old: "lane", use: "message group"},
	{old: "traffic", use: "in flight"}, {old: "allowance", use: "time budget"},
	{old: "hop", use: "round trip"}, {old: "holding", use: "open rows", within: []string{"native/sql"}}, {old: "patience", use: "cancel grace"},
	{old: "link", use: "conn", within: []string{"native/sql"}},
	{old: "running", use: "max concurrency", within: []string{"cmd/internal/config"}},
	{old: "world", use: "network, simulation"}, {old: "people", use: "console"}, {old: "nobody", use: "disabled, none"}, {old: "somebody", use: "another caller"},
	{old: "kit", use: "harness"}, {old: "house", use: "fixture"}, {old: "crowd", use: "load"}, {old: "ways", use: "call contexts"}, {old: "broken", use: "mutation", within: []string{"test/mutation"}},
	{old: "probe", use: "exploit", within: []string{"test/exploits", "runtime"}}, {old: "probes", use: "exploits", within: []string{"test/exploits", "runtime"}},
	{old: "fate", use: "fault"}, {old: "temper", use: "clock profile"}, {old: "appointment", use: "timer"}, {old: "promise", use: "property", within: []string{"test/sim"}}, {old: "judge", use: "checker"},
}

// kept are identifiers that have such a word for a reason, by file and name.
var kept = map[string]string{
	"task/protection/protection.go:Keep": "the agent keeps the protection up: a verb, not what is retained",
}

// parts splits an identifier into its words, in lower case, and adds each pair
// of neighbours as one.
func parts(name string) []string {
	var out []string
	start := 0
	runes := []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) || runes[i] == '_' {
			if w := strings.ToLower(strings.Trim(string(runes[start:i]), "_")); w != "" {
				out = append(out, w)
			}
			start = i
		}
	}
	for i := range len(out) - 1 {
		out = append(out, out[i]+out[i+1])
	}
	return out
}

func TestNamesAreTheFieldsWords(t *testing.T) {
	for _, s := range sources(t) {
		for _, id := range declared(s.file) {
			for _, w := range words {
				if id != w.old && !slices.Contains(parts(id), w.old) || kept[s.path+":"+id] != "" || !meant(w, s.folder) {
					continue
				}
				t.Errorf("%s: %s: say %q", s.path, id, w.use)
			}
		}
		file := strings.TrimSuffix(s.path[strings.LastIndex(s.path, "/")+1:], ".go")
		for _, w := range words {
			if meant(w, s.folder) && slices.Contains(parts(file), w.old) {
				t.Errorf("%s: the file's name: say %q", s.path, w.use)
			}
		}
	}
}

func TestPartsOfNames(t *testing.T) {
	if got := parts("newHandOverURL_test"); !slices.Equal(got, []string{"new", "hand", "over", "url", "test", "newhand", "handover", "overurl", "urltest"}) {
		t.Errorf("got %q", got)
	}
}

func meant(w word, folder string) bool {
	if len(w.within) == 0 {
		return true
	}
	r, _ := roomOf(folder)
	return slices.ContainsFunc(w.within, func(of string) bool { return folder == of || r.folder == of || of != "native" && inside(folder, of) })
}

// declared returns the names that a file declares, once each.
func declared(file *ast.File) []string {
	names := map[string]bool{}
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			names[id.Name] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.Field:
			add(n.Names...)
		case *ast.LabeledStmt:
			add(n.Label)
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok.String() == ":=" {
					add(id)
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok {
					add(id)
				}
			}
		}
		return true
	})
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
