package stream

import "strings"

// blockBytes is how much is copied or written between two looks at the run:
// some tens of microseconds' worth.
const blockBytes = 256 << 10

// firstBytes is room for most answers. A text that goes on doubles it.
const firstBytes = 1 << 10

// Builder collects bytes that arrive piece by piece and makes one string of them.
// It keeps them in blocks, so that nothing long is ever copied in one go: the
// caller is asked after each block. Its zero value has no caller and can't be
// used.
type Builder struct {
	Caller
	blocks [][]byte
	size   int
}

// NewBuilder returns a text without any bytes, for one call.
func NewBuilder(c Caller) *Builder { return &Builder{Caller: c} }

// Len is how many bytes there are.
func (t *Builder) Len() int { return t.size }

// Reserve returns where the next bytes may be put, 1 to max of them. They count
// once [Text.Advance] is told of them.
func (t *Builder) Reserve(max int) []byte {
	if last := len(t.blocks) - 1; last >= 0 {
		if b := t.blocks[last]; len(b) < cap(b) {
			return b[len(b):min(cap(b), len(b)+max)]
		}
	}
	b := make([]byte, 0, min(max, blockBytes, firstBytes+t.size))
	t.blocks = append(t.blocks, b)
	return b[:cap(b)]
}

// Advance says that n bytes were put where Room has said.
func (t *Builder) Advance(n int) {
	last := len(t.blocks) - 1
	t.blocks[last] = t.blocks[last][:len(t.blocks[last])+n]
	t.size += n
}

// Append adds a copy of p.
func (t *Builder) Append(p []byte) {
	for len(p) > 0 {
		n := copy(t.Reserve(len(p)), p)
		t.Advance(n)
		t.CheckInterrupt()
		p = p[n:]
	}
}

// cut cuts c off the end, if it is there.
func (t *Builder) cut(c byte) {
	last := len(t.blocks) - 1
	for last >= 0 && len(t.blocks[last]) == 0 {
		last--
	}
	if last < 0 {
		return
	}
	if b := t.blocks[last]; b[len(b)-1] == c {
		t.blocks[last] = b[:len(b)-1]
		t.size--
	}
}

// String returns all bytes, and is the last that is done for the call. The text
// is empty afterwards.
func (t *Builder) String() string {
	t.Charge(t.size)
	var b strings.Builder
	b.Grow(t.size)
	for i, block := range t.blocks {
		b.Write(block)
		t.blocks[i] = nil
		t.Step(len(block))
	}
	t.blocks, t.size = nil, 0
	return b.String()
}

// bytes returns all bytes. The text is empty afterwards.
func (t *Builder) bytes() []byte {
	t.Charge(t.size)
	all := make([]byte, 0, t.size)
	for i, block := range t.blocks {
		all = append(all, block...)
		t.blocks[i] = nil
		t.CheckInterrupt()
	}
	t.blocks, t.size = nil, 0
	return all
}

// clone copies text, which is a part of a longer string, so that the longer one
// can be freed.
func clone(c Caller, text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > blockBytes {
		b.WriteString(text[:blockBytes])
		text = text[blockBytes:]
		c.Step(blockBytes)
	}
	b.WriteString(text)
	c.Step(len(text))
	return b.String()
}
