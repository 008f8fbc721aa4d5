package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// buffer builds the text of a result. It charges the run before it grows and
// counts what is written as steps. A text that becomes long without having been
// reserved is kept in parts until it is complete, because growing is copying, and
// no copy may take long.
type buffer struct {
	strings.Builder          // of the last part
	parts           []string // the others
	sealed          int      // bytes in parts
	charged         int      // bytes charged last
	run             *vm.Run
	unreported      int // steps not reported to the run yet
}

const (
	// blockBytes is how much is written between two interrupt checks: about ten
	// microseconds' worth.
	blockBytes = 64 << 10
	// partMin is the size from which on a part isn't copied to grow.
	partMin = 256 << 10
	// partMax is the capacity of a part, unless a single write is larger.
	partMax = 4 << 20
)

// reserve makes room for n more bytes.
func (b *buffer) reserve(n int) {
	if b.Len()+n > b.Cap() {
		b.grow(n)
	}
}

func (b *buffer) grow(n int) {
	need := b.sealed + b.Len() + n
	if b.Len() < partMin {
		b.charge(need)
		b.Builder.Grow(n)
		return
	}
	if need > 2*b.charged || need > stringMax {
		b.charge(need)
	}
	b.parts = append(b.parts, b.Builder.String())
	b.sealed += b.Len()
	b.Builder = strings.Builder{}
	b.Builder.Grow(max(n, min(b.sealed, partMax)))
}

func (b *buffer) charge(need int) {
	b.charged = need
	charge(b.run, float64(need))
}

// String returns what was written, without spare capacity: the run would hold
// that, and nothing would count it.
func (b *buffer) String() string {
	s := b.Builder.String()
	if b.parts != nil {
		return joined(b.run, append(b.parts, s), b.sealed+len(s))
	}
	if b.Cap() > len(s)+len(s)/4 && len(s) > sharedMin {
		return joined(b.run, []string{s}, len(s))
	}
	return s
}

// joined returns the concatenation of texts, which have size bytes in all.
func joined(run *vm.Run, texts []string, size int) string {
	whole := buffer{run: run}
	whole.Grow(size)
	for _, s := range texts {
		whole.text(s)
	}
	return whole.Builder.String()
}

// Join returns the concatenation of texts, which have size bytes in all. Where
// that takes long, it checks the run of L for interrupts meanwhile.
func Join(L *lua.LState, texts []string, size int) string {
	for _, s := range texts {
		if len(s) == size {
			return s // the others are empty
		}
	}
	return joined(vm.Of(L), texts, size)
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
	if b.unreported += n; b.unreported >= stepsPerReport {
		b.run.Step(b.unreported)
		b.unreported = 0
	}
}

// stepsPerReport is how many small steps of a loop are reported to the run at
// once.
const stepsPerReport = 100
