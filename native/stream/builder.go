package stream

import "strings"

// blockBytes is how much is copied or written between two interrupt checks:
// some tens of microseconds of work.
const blockBytes = 256 << 10

// firstBlockBytes is room for most texts. One that grows doubles it.
const firstBlockBytes = 1 << 10

// Builder builds one string of bytes that arrive in chunks. It keeps them in
// blocks, so that nothing long is ever copied in one go: after each block it
// checks for an interrupt. The zero value has no caller and can't be used.
type Builder struct {
	caller Caller
	blocks [][]byte
	size   int
}

// NewBuilder returns an empty builder for one call.
func NewBuilder(c Caller) *Builder { return &Builder{caller: c} }

// Len returns the number of bytes.
func (b *Builder) Len() int { return b.size }

// Reserve returns where the next bytes may be put, 1 to max of them. They count
// once [Builder.Advance] is called.
func (b *Builder) Reserve(max int) []byte {
	if last := len(b.blocks) - 1; last >= 0 {
		if block := b.blocks[last]; len(block) < cap(block) {
			return block[len(block):min(cap(block), len(block)+max)]
		}
	}
	block := make([]byte, 0, min(max, blockBytes, firstBlockBytes+b.size))
	b.blocks = append(b.blocks, block)
	return block[:cap(block)]
}

// Advance adds the first n bytes of what Reserve has returned.
func (b *Builder) Advance(n int) {
	last := len(b.blocks) - 1
	b.blocks[last] = b.blocks[last][:len(b.blocks[last])+n]
	b.size += n
}

// Append adds a copy of p.
func (b *Builder) Append(p []byte) {
	for len(p) > 0 {
		n := copy(b.Reserve(len(p)), p)
		b.Advance(n)
		b.caller.CheckInterrupt()
		p = p[n:]
	}
}

// trimSuffix removes c from the end, if it is there.
func (b *Builder) trimSuffix(c byte) {
	last := len(b.blocks) - 1
	for last >= 0 && len(b.blocks[last]) == 0 {
		last--
	}
	if last < 0 {
		return
	}
	if block := b.blocks[last]; block[len(block)-1] == c {
		b.blocks[last] = block[:len(block)-1]
		b.size--
	}
}

// String returns all bytes, and is the last thing that is done for the call. The
// builder is empty afterwards.
func (b *Builder) String() string {
	b.caller.Charge(b.size)
	var text strings.Builder
	text.Grow(b.size)
	for i, block := range b.blocks {
		text.Write(block)
		b.blocks[i] = nil
		b.caller.Step(len(block))
	}
	b.blocks, b.size = nil, 0
	return text.String()
}

// bytes returns all bytes. The builder is empty afterwards.
func (b *Builder) bytes() []byte {
	b.caller.Charge(b.size)
	all := make([]byte, 0, b.size)
	for i, block := range b.blocks {
		all = append(all, block...)
		b.blocks[i] = nil
		b.caller.CheckInterrupt()
	}
	b.blocks, b.size = nil, 0
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
