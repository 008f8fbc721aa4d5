package pattern

// Matcher finds the matches of a pattern in a subject. After a panic of its meter
// it can't be used until the next [Matcher.Reset]. It may not be used by several
// goroutines at once.
type Matcher struct {
	pattern    *Pattern
	subject    string
	meter      Meter
	left       int // steps until the next report to the meter
	start, end int // the last match
	captures   [MaxCaptures]span
	choices    []choice
	buffer     [8]choice // for the choices of an ordinary pattern
}

type span struct{ start, end int }

// choice is a repetition that can still take another number of bytes than it
// did: fewer, down to low, or one more if it is lazy.
type choice struct {
	item    int
	low, at int // subject positions
}

// Reset prepares m for matches of p in subject.
func (m *Matcher) Reset(p *Pattern, subject string, meter Meter) {
	m.pattern, m.subject, m.meter = p, subject, meter
	m.left = stepsPerReport
	m.start, m.end = 0, 0
	m.choices = m.buffer[:0]
}

// Find finds the first match that begins at from (0 <= from <= len(subject)) or
// later, or only at from if the pattern is anchored. The error is that of a
// malformed pattern.
func (m *Matcher) Find(from int) (found bool, err error) {
	found, err = m.find(from)
	m.report()
	return found, err
}

func (m *Matcher) find(from int) (found bool, err error) {
	p := m.pattern
	for at := from; at <= len(m.subject); at++ {
		if p.prefix != "" || p.literal {
			if at = Index(m.subject, p.prefix, at, m.meter); at < 0 {
				return false, nil
			}
		}
		end := at + len(p.prefix)
		if !p.literal {
			if end, err = m.match(at); err != nil {
				return false, err
			}
		}
		if end >= 0 {
			m.start, m.end = at, end
			return true, nil
		}
		if p.anchored {
			break
		}
	}
	return false, nil
}

// Subject returns the text in which m finds matches.
func (m *Matcher) Subject() string { return m.subject }

// Start returns the index of the last match, which is subject[Start():End()].
func (m *Matcher) Start() int { return m.start }

// End returns the index behind the last match.
func (m *Matcher) End() int { return m.end }

// Next returns where to search for the match after the last one: behind it, or
// one byte further if it is empty.
func (m *Matcher) Next() int {
	if m.end == m.start {
		return m.end + 1
	}
	return m.end
}

// Text returns the text of the last match.
func (m *Matcher) Text() string { return m.subject[m.start:m.end] }

// HasCaptures reports whether the pattern has captures.
func (m *Matcher) HasCaptures() bool { return m.pattern.captures > 0 }

// Captures returns how many values the last match has: its captures, or 1 for
// the whole match when the pattern has none.
func (m *Matcher) Captures() int { return max(1, m.pattern.captures) }

// Capture returns value i (counted from 0) of the last match: its text, or, if
// the capture is (), its position in the subject. Positions count from 1; of a
// text the position is 0.
func (m *Matcher) Capture(i int) (text string, position int, err error) {
	p := m.pattern
	switch {
	case i == 0 && p.captures == 0:
		return m.subject[m.start:m.end], 0, nil
	case i >= p.captures:
		return "", 0, errCaptureIndex
	case p.position>>i&1 != 0:
		return "", m.captures[i].start + 1, nil
	case p.unfinished>>i&1 != 0:
		return "", 0, errUnfinishedCapture
	}
	c := m.captures[i]
	return m.subject[c.start:c.end], 0, nil
}

// match returns the end of the match that begins at s, or -1.
func (m *Matcher) match(s int) (end int, err error) {
	items, subject := m.pattern.items, m.subject
	m.choices = m.choices[:0]
	for i := 0; ; {
		m.spend(1)
		it := &items[i]
		i++
		matched := false
		switch it.op {
		case opSingle:
			if matched = s < len(subject) && it.matches(subject[s]); matched {
				s++
			}
		case opOptional:
			if matched = true; s < len(subject) && it.matches(subject[s]) {
				m.push(choice{i - 1, s, s + 1})
				s++
			}
		case opGreedy:
			matched = true
			if end := m.run(it, s); end > s {
				m.push(choice{i - 1, s, end})
				s = end
			}
		case opLazy:
			matched = true
			m.push(choice{i - 1, s, s})
		case opOpen:
			matched = true
			m.captures[it.a].start = s
		case opClose:
			matched = true
			m.captures[it.a].end = s
		case opPosition:
			matched = true
			m.captures[it.a].start = s
		case opBackReference:
			s, matched = m.backReference(m.captures[it.a], s)
		case opBalance:
			s, matched = m.balance(it, s)
		case opFrontier:
			matched = m.frontier(it, s)
		case opEnd:
			return s, nil
		case opSubjectEnd:
			if s == len(subject) {
				return s, nil
			}
		case opMalformed:
			return -1, it.err
		}
		if !matched {
			if i, s = m.backtrack(); i < 0 {
				return -1, nil
			}
		}
	}
}

// push puts a choice on the stack.
func (m *Matcher) push(c choice) {
	if n := len(m.choices); n == cap(m.choices) {
		m.meter.Charge(2 * int64(n) * choiceBytes)
	}
	m.choices = append(m.choices, c)
}

// choiceBytes is the size of a choice.
const choiceBytes = 24

// backtrack goes back to the latest choice that has an alternative left and
// returns where to continue: the item and the subject position. Captures need no
// restoring: whatever was set after the choice is set again before it is read.
func (m *Matcher) backtrack() (next, s int) {
	for n := len(m.choices) - 1; n >= 0; n-- {
		c := &m.choices[n]
		it := &m.pattern.items[c.item]
		if it.op != opLazy {
			c.at--
			if c.at == c.low {
				m.choices = m.choices[:n]
			} else {
				m.choices = m.choices[:n+1]
			}
			return c.item + 1, c.at
		}
		if c.at < len(m.subject) && it.matches(m.subject[c.at]) {
			c.at++
			m.choices = m.choices[:n+1]
			return c.item + 1, c.at
		}
	}
	return -1, 0
}

// run returns the end of the longest run of the item from s.
func (m *Matcher) run(it *item, s int) int {
	if it.set == &anyByte {
		return len(m.subject)
	}
	for {
		part := m.subject[s:min(len(m.subject), s+stepsPerReport)]
		n := it.run(part)
		m.spend(n)
		s += n
		if n < len(part) || s == len(m.subject) {
			return s
		}
	}
}

// backReference matches the text of a capture again.
func (m *Matcher) backReference(c span, s int) (int, bool) {
	n := c.end - c.start
	m.spend(n / bytesPerStep)
	if n > len(m.subject)-s || m.subject[c.start:c.end] != m.subject[s:s+n] {
		return s, false
	}
	return s + n, true
}

// balance matches from an a to the b that balances it.
func (m *Matcher) balance(it *item, s int) (int, bool) {
	if s >= len(m.subject) || m.subject[s] != it.a {
		return s, false
	}
	depth := 1
	for i := s + 1; i < len(m.subject); i++ {
		m.spend(1)
		switch m.subject[i] {
		case it.b:
			if depth--; depth == 0 {
				return i + 1, true
			}
		case it.a:
			depth++
		}
	}
	return s, false
}

// frontier matches the empty string between a byte outside and one inside of
// the class. Before the first byte and behind the last there is a zero byte.
func (m *Matcher) frontier(it *item, s int) bool {
	var before, after byte
	if s > 0 {
		before = m.subject[s-1]
	}
	if s < len(m.subject) {
		after = m.subject[s]
	}
	return !it.matches(before) && it.matches(after)
}

// spend counts n steps.
func (m *Matcher) spend(n int) {
	if m.left -= n; m.left <= 0 {
		m.report()
	}
}

// report reports the steps since the last report to the meter.
func (m *Matcher) report() {
	m.meter.Step(stepsPerReport - m.left)
	m.left = stepsPerReport
}
