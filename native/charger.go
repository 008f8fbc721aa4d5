package native

import "github.com/tidelock-lua/tidelock/native/vm"

// charger charges a run for what is made piece by piece, and is not yet where a
// walk over the run's memory would find it. It charges the total, each time that
// it has doubled.
type charger struct {
	run     *vm.Run
	bytes   int64   // so far, about
	charged int64   // of them, when the run was last charged
	big     float64 // the number nearest to zero that may have been an integer that was rounded; 0 for none
}

// chargerMin is how much may be made before the run is charged.
const chargerMin = 64 << 10

// add is called before n more bytes are made.
func (c *charger) add(n int) {
	if c.bytes += int64(n); c.bytes > max(2*c.charged, chargerMin) {
		c.charged = c.bytes
		c.run.Charge(c.bytes)
	}
}

// addTable is called before a table is made, in Go or in Lua, with so many
// elements and fields.
func (c *charger) addTable(elements, fields int) { c.add(100 + 24*elements + 100*fields) }

// MemoryCharger returns a function that charges the run for what a module makes
// piece by piece. Call it with the number of bytes that are about to be made.
func MemoryCharger(run *vm.Run) func(bytes int) {
	c := charger{run: run}
	return c.add
}
