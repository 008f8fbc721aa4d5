package pattern

import (
	"fmt"
	"strings"
	"testing"
)

// reference matches a pattern by plain recursion over its text, as the manual
// defines it. It gives up, by panicking with its name, on malformed patterns and
// when it takes too long.
type reference struct {
	subject string
	starts  []int
	ends    []int // -1 while open, -2 for a position
	left    int
}

func (r *reference) class(p string) (size int) {
	switch {
	case p[0] == '%' && len(p) == 1:
		panic("reference")
	case p[0] == '%':
		return 2
	case p[0] != '[':
		return 1
	}
	i := 1
	if i < len(p) && p[i] == '^' {
		i++
	}
	for first := i; i < len(p); i++ {
		if p[i] == '%' {
			i++
		} else if p[i] == ']' && i > first {
			return i + 1
		}
	}
	panic("reference")
}

func letterMatches(c, letter byte) bool {
	if class := classes[letter]; class != nil {
		return class.has(c)
	}
	return c == letter
}

func (r *reference) one(c byte, class string) bool {
	switch class[0] {
	case '.':
		return true
	case '%':
		return letterMatches(c, class[1])
	case '[':
		return setMatches(c, class[1:len(class)-1])
	}
	return c == class[0]
}

func setMatches(c byte, inside string) bool {
	if strings.HasPrefix(inside, "^") {
		return !members(c, inside[1:])
	}
	return members(c, inside)
}

func members(c byte, inside string) bool {
	for inside != "" {
		switch {
		case inside[0] == '%' && len(inside) > 1:
			if letterMatches(c, inside[1]) {
				return true
			}
			inside = inside[2:]
		case len(inside) > 2 && inside[1] == '-':
			if inside[0] <= c && c <= inside[2] {
				return true
			}
			inside = inside[3:]
		case inside[0] == c:
			return true
		default:
			inside = inside[1:]
		}
	}
	return false
}

// match returns the end of the match of p at s, or -1.
func (r *reference) match(s int, p string) int {
	if r.left--; r.left < 0 {
		panic("reference")
	}
	switch {
	case p == "":
		return s
	case p == "$":
		if s == len(r.subject) {
			return s
		}
		return -1
	case p[0] == '(' || p[0] == ')':
		return r.parenthesis(s, p)
	case p[0] == '%' && len(p) > 1 && strings.IndexByte("bf0123456789", p[1]) >= 0:
		return r.special(s, p)
	}
	size := r.class(p)
	class, rest := p[:size], p[size:]
	matches := func(at int) bool { return at < len(r.subject) && r.one(r.subject[at], class) }
	least, most := 1, 1
	lazy := false
	if rest != "" && strings.IndexByte("?*+-", rest[0]) >= 0 {
		least, most = map[byte]int{'+': 1}[rest[0]], len(r.subject)
		if rest[0] == '?' {
			most = 1
		}
		lazy = rest[0] == '-'
		rest = rest[1:]
	}
	n := 0
	for n < most && matches(s+n) {
		n++
	}
	if lazy {
		for i := least; i <= n; i++ {
			if end := r.match(s+i, rest); end >= 0 {
				return end
			}
		}
		return -1
	}
	for ; n >= least; n-- {
		if end := r.match(s+n, rest); end >= 0 {
			return end
		}
	}
	return -1
}

func (r *reference) parenthesis(s int, p string) int {
	if p[0] == '(' {
		if len(r.starts) == MaxCaptures {
			panic("reference")
		}
		end, size := -1, 1
		if strings.HasPrefix(p, "()") {
			end, size = -2, 2
		}
		r.starts, r.ends = append(r.starts, s), append(r.ends, end)
		result := r.match(s, p[size:])
		if result < 0 {
			r.starts, r.ends = r.starts[:len(r.starts)-1], r.ends[:len(r.ends)-1]
		}
		return result
	}
	for i := len(r.ends) - 1; i >= 0; i-- {
		if r.ends[i] == -1 {
			r.ends[i] = s
			result := r.match(s, p[1:])
			if result < 0 {
				r.ends[i] = -1
			}
			return result
		}
	}
	panic("reference")
}

func (r *reference) special(s int, p string) int {
	switch p[1] {
	case 'b':
		if len(p) < 4 {
			panic("reference")
		}
		depth := 0
		for i := s; i < len(r.subject); i++ {
			switch {
			case i > s && r.subject[i] == p[3]:
				depth--
			case r.subject[i] == p[2]:
				depth++
			}
			if depth == 0 {
				if i == s {
					return -1
				}
				return r.match(i+1, p[4:])
			}
		}
		return -1
	case 'f':
		if len(p) < 3 || p[2] != '[' {
			panic("reference")
		}
		size := r.class(p[2:])
		around := "\x00" + r.subject + "\x00"
		if r.one(around[s], p[2:2+size]) || !r.one(around[s+1], p[2:2+size]) {
			return -1
		}
		return r.match(s, p[2+size:])
	}
	i := int(p[1]) - '1'
	if i < 0 || i >= len(r.ends) || r.ends[i] == -1 {
		panic("reference")
	}
	if r.ends[i] == -2 || !strings.HasPrefix(r.subject[s:], r.subject[r.starts[i]:r.ends[i]]) {
		return -1
	}
	return r.match(s+r.ends[i]-r.starts[i], p[2:])
}

// referenceFind is find by the reference; ok is false if it gave up.
func referenceFind(subject, source string) (result string, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != "reference" {
				panic(p)
			}
			ok = false
		}
	}()
	anchored := strings.HasPrefix(source, "^")
	for s := 0; s <= len(subject); s++ {
		r := reference{subject: subject, left: 20_000}
		end := r.match(s, strings.TrimPrefix(source, "^"))
		if end < 0 && !anchored {
			continue
		}
		if end < 0 {
			break
		}
		result = fmt.Sprint(s+1, " ", end)
		for i := range r.starts {
			switch r.ends[i] {
			case -1:
				return "", false
			case -2:
				result += fmt.Sprintf(" @%d", r.starts[i]+1)
			default:
				result += fmt.Sprintf(" %q", subject[r.starts[i]:r.ends[i]])
			}
		}
		return result, true
	}
	return "nil", true
}

func FuzzFindAgreesWithAPlainRecursiveMatcher(f *testing.F) {
	f.Add("key = value", "^(%w+)%s*=%s*(%w+)$")
	f.Add("f(a(b)c)d", "%b()(.-)%f[%z]")
	f.Add("x==x", "(.)(=+)%1[^]%a-c]?")
	f.Fuzz(func(t *testing.T, subject, source string) {
		if len(subject) > 64 || len(source) > 64 {
			return
		}
		want, ok := referenceFind(subject, source)
		var got string
		stopped := interrupted(2_000_000, func(meter Meter) {
			var m Matcher
			m.Reset(Compile(source, true, meter), subject, meter)
			found, err := m.Find(0)
			switch {
			case err != nil:
				got = err.Error()
			case !found:
				got = "nil"
			default:
				got = fmt.Sprint(m.Start()+1, " ", m.End(), captures(&m))
			}
		})
		if ok && (stopped || got != want) {
			t.Errorf("find(%q, %q): got %s (interrupted %v), want %s", subject, source, got, stopped, want)
		}
	})
}
