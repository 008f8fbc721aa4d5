package locktable

import (
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
)

// Status is the row of a lock as operators and tenants see it, over HTTP and in
// the output of commands.
type Status struct {
	Name  string    `json:"name"`
	Owner string    `json:"owner"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// AgeMillis is how long ago the holder's call began, LeftMillis how long it
	// takes until the row has run out. RanOut reports that it has, so that the next
	// acquisition gets the lock.
	AgeMillis  int64             `json:"age_ms"`
	LeftMillis int64             `json:"left_ms"`
	RanOut     bool              `json:"ran_out"`
	By         map[string]string `json:"by"`
}

// StatusOf describes a row.
func StatusOf(l lock.LockInfo) Status {
	return Status{
		Name: l.Name, Owner: l.Owner, Since: l.Start.Time().UTC(), Until: l.Until.Time().UTC(),
		AgeMillis: max(l.Age.Milliseconds(), 0), LeftMillis: max(l.Left.Milliseconds(), 0), RanOut: l.Left <= 0,
		By: l.By.Attributes(),
	}
}
