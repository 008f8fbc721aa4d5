package pattern

import (
	"strings"
	"testing"
)

func TestMatcherCountsEachKindOfStep(t *testing.T) {
	const n = 100_000
	for name, c := range map[string]struct{ subject, pattern string }{
		"a lazy repetition":   {strings.Repeat("a", n), "^a-b"},
		"a greedy repetition": {strings.Repeat("a", n), "^[ab]*c"},
		"single items":        {strings.Repeat("ab", n), "[c]"},
		"balanced brackets":   {strings.Repeat("(", n), "^%b()"},
	} {
		if !interrupted(n/2, func(meter Meter) {
			var m Matcher
			m.Reset(Compile(c.pattern, true, meter), c.subject, meter)
			_, _ = m.Find(0)
		}) {
			t.Errorf("%s: got fewer steps than half of the bytes", name)
		}
	}
}
