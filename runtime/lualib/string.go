package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var stringFunctions = []function{
	{"byte", stringByte},
	{"char", stringChar},
	{"find", stringFind},
	{"format", stringFormat},
	{"gmatch", stringGmatch},
	{"gsub", stringGsub},
	{"len", stringLen},
	{"lower", stringLower},
	{"match", stringMatch},
	{"rep", stringRep},
	{"reverse", stringReverse},
	{"sub", stringSub},
	{"upper", stringUpper},
}

// fromEnd turns a negative position, which counts from the end of n bytes, into
// one that counts from the beginning.
func fromEnd(position, n int) int {
	if position < 0 {
		return max(0, position+n+1)
	}
	return position
}

func stringByte(c call) int {
	s := c.text(1)
	first := fromEnd(c.integerOr(2, 1), len(s))
	last := fromEnd(c.integerOr(3, first), len(s))
	first, last = max(first, 1), min(last, len(s))
	if last-first >= resultsMax {
		c.raise("string slice too long")
	}
	c.run().Step(max(0, last-first) / elementsPerStep)
	for i := first; i <= last; i++ {
		c.Push(oneByte[s[i-1]].value)
	}
	return max(0, last-first+1)
}

// oneByte holds each byte as a number and as a string. Scripts need them so often
// that allocating them each time would cost.
var oneByte = func() (table [256]struct{ value, text lua.LValue }) {
	for i := range table {
		table[i].value = lua.LNumber(i)
		table[i].text = lua.LString([]byte{byte(i)})
	}
	return table
}()

func stringChar(c call) int {
	n := c.GetTop()
	c.run().Step(n / elementsPerStep)
	var b strings.Builder
	b.Grow(n)
	for i := 1; i <= n; i++ {
		value := c.integer(i)
		if value < 0 || value > 255 {
			c.argumentError(i, "invalid value")
		}
		b.WriteByte(byte(value))
	}
	return c.retText(b.String())
}

func stringLen(c call) int { return c.retNumber(float64(len(c.text(1)))) }

func stringSub(c call) int {
	s := c.text(1)
	first := max(1, fromEnd(c.integer(2), len(s)))
	last := min(len(s), fromEnd(c.integerOr(3, -1), len(s)))
	switch {
	case first > last:
		return c.retText("")
	case first == last:
		return c.ret(oneByte[s[first-1]].text)
	}
	return c.retText(substring(s, s[first-1:last]))
}

// sharedMin is the size in bytes up to which a text may be kept alive by its
// substrings.
const sharedMin = 64

// substring returns a part of text. A small one is copied: it would keep all of
// the text alive, and count as a few bytes of the run's memory.
func substring(text, part string) string {
	if len(text) > sharedMin && len(part) < len(text)/2 {
		return strings.Clone(part)
	}
	return part
}

// stringRep takes a separator, as in Lua 5.2.
func stringRep(c call) int {
	s, n, separator := c.text(1), c.integer(2), c.textOr(3, "")
	if n <= 0 || s == "" && separator == "" {
		return c.retText("")
	}
	last := s
	s += separator
	charge(c.run(), float64(len(s))*float64(n))
	b := buffer{run: c.run()}
	b.reserve(len(s)*(n-1) + len(last))
	perBlock := min(n, 1+blockBytes/(16*len(s)))
	block := strings.Repeat(s, perBlock)
	for n--; n >= perBlock; n -= perBlock {
		b.text(block)
	}
	b.text(block[:n*len(s)])
	b.text(last)
	return c.retText(b.String())
}

func stringLower(c call) int { return c.mapBytes(&lowerCase) }
func stringUpper(c call) int { return c.mapBytes(&upperCase) }

// lowerCase and upperCase map bytes as the C locale does.
var (
	lowerCase = mapRange('A', 'Z', 'a'-'A')
	upperCase = mapRange('a', 'z', 'A'-'a'+256)
)

func mapRange(from, to byte, distance int) (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if from <= byte(i) && byte(i) <= to {
			table[i] = byte(i + distance)
		}
	}
	return table
}

// mapBytes returns argument 1 with each byte replaced by the table's.
func (c call) mapBytes(table *[256]byte) int {
	s := c.text(1)
	b := buffer{run: c.run()}
	b.reserve(len(s))
	var block [256]byte
	for s != "" {
		n := min(len(s), len(block))
		for i := range n {
			block[i] = table[s[i]]
		}
		b.Write(block[:n])
		b.step(1 + n/bytesPerStep)
		s = s[n:]
	}
	return c.retText(b.String())
}

func stringReverse(c call) int {
	s := c.text(1)
	b := buffer{run: c.run()}
	b.reserve(len(s))
	var block [256]byte
	for s != "" {
		n := min(len(s), len(block))
		for i := range n {
			block[i] = s[len(s)-1-i]
		}
		b.Write(block[:n])
		b.step(1 + n/bytesPerStep)
		s = s[:len(s)-n]
	}
	return c.retText(b.String())
}
