package native

import "github.com/tidelock-lua/tidelock/native/vm"

// growth charges a run for something that is made piece by piece and that no
// walk over the run finds yet: in total, each time that it has doubled.
type growth struct {
	run     *vm.Run
	bytes   int64 // so far, about
	charged int64 // when the run was last charged
}

// growthMin is how much may be made before the run is charged.
const growthMin = 64 << 10

// add says that n more bytes are about to be made.
func (g *growth) add(n int) {
	if g.bytes += int64(n); g.bytes > max(2*g.charged, growthMin) {
		g.charged = g.bytes
		g.run.Charge(g.bytes)
	}
}

// table adds a table, in Go or in Lua, with so many elements and fields.
func (g *growth) table(elements, fields int) { g.add(100 + 24*elements + 100*fields) }

// MemoryCharger returns a function that charges the run for what a module makes piece
// by piece: it is told how many bytes are about to be made.
func MemoryCharger(run *vm.Run) func(bytes int) {
	g := growth{run: run}
	return g.add
}
