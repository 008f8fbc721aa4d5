package main

// row is one way of calling a function: a line of the table.
type row struct {
	// name is the function as the walk over a sandbox finds it: "string.rep",
	// "partition:get". An operator is named "a .. b".
	name string
	// setup is run once before all calls; what it makes local is call's too.
	setup string
	// call is one call, as a statement. It raises nothing.
	call string
	// shown is what the page shows instead of call.
	shown string
	// lead is how many milliseconds before its deadline the call begins that
	// the deadline falls into. 0 is for a call that is short: it begins right
	// before the end. Others take longer than lead, or for ever.
	lead float64
	// late says why the call may be interrupted more than 50 ms after its
	// deadline; "" is for calls that may not.
	late string
	// patience is how many milliseconds after its deadline the call waits for
	// another's answer on purpose.
	patience float64
}

// text is how the page shows the call.
func (r row) text() string {
	if r.shown != "" {
		return r.shown
	}
	return r.call
}

// tables are the rows of each module. A function without one fails the test.
var tables = [][]row{
	languageRows,
	baseRows,
	stringRows,
	tableRows,
	mathRows,
	otherRows,
	coreRows,
	jsonRows,
	lockRows,
	dbRows,
	httpRows,
	streamRows,
	sqlRows,
}

func rows() (all []row) {
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

// forever is the lead of a call that never ends by itself.
const forever = 10
