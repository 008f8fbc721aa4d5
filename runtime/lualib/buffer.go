package lualib

import (
	"strings"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// buffer collects the text of a result. It charges the run before it grows and
// counts what is written as steps.
type buffer struct {
	strings.Builder
	run  *vm.Run
	work int // steps not told to the run yet
}

// blockBytes is how much is written between two looks at the run: some ten
// microseconds' worth.
const blockBytes = 64 << 10

// reserve makes room for n more bytes.
func (b *buffer) reserve(n int) {
	if need := b.Len() + n; need > b.Cap() {
		charge(b.run, float64(need))
		b.Grow(n)
	}
}

// String returns what was written, without the room that was to spare: it would
// be held, and no account would know.
func (b *buffer) String() string {
	s := b.Builder.String()
	if b.Cap() > len(s)+len(s)/4 && len(s) > sharedMin {
		return strings.Clone(s)
	}
	return s
}

// text writes s.
func (b *buffer) text(s string) {
	b.reserve(len(s))
	for len(s) > blockBytes {
		b.WriteString(s[:blockBytes])
		s = s[blockBytes:]
		b.step(blockBytes / bytesPerStep)
	}
	b.WriteString(s)
	b.step(1 + len(s)/bytesPerStep)
}

// char writes one byte.
func (b *buffer) char(c byte) {
	b.reserve(1)
	b.WriteByte(c)
	b.step(1)
}

// step counts n steps.
func (b *buffer) step(n int) {
	if b.work += n; b.work >= stepsPerTell {
		b.run.Step(b.work)
		b.work = 0
	}
}

// stepsPerTell is how many small steps of a loop are told to the run at once.
const stepsPerTell = 100
