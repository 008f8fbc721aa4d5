package main

// row is one call of a function, and a row of the table.
type row struct {
	// name is that of the function, as probe.discover finds it: "string.rep",
	// "partition:get". An operator is named "a .. b".
	name string
	// setup runs once before all calls. Its local variables are visible in call.
	setup string
	// call is one call, as a statement. It raises no error.
	call string
	// display is what the page shows instead of call, if it is not empty.
	display string
	// lead is how many milliseconds before the deadline the last call begins. It
	// is 0 for a short call, which begins right before the deadline. Other calls
	// take longer than lead, or forever.
	lead float64
	// lateReason is why the call may be interrupted more than 50 ms after its
	// deadline. It is empty for calls that may not.
	lateReason string
	// delay is how many milliseconds the call waits after its deadline, on
	// purpose, for the answer to a cancel request.
	delay float64
}

// text returns the call as the page shows it.
func (r row) text() string {
	if r.display != "" {
		return r.display
	}
	return r.call
}

// tables are the rows of each module. A test requires one for each function.
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

// forever is the lead, in milliseconds, of a call that never ends by itself.
const forever = 10
