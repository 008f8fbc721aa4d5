package fair_test

import (
	"fmt"

	"github.com/tidelock-lua/tidelock/runtime/fair"
)

// A busy tenant delays a quiet one by a single item.
func ExampleQueue() {
	var q fair.Queue[string]
	q.Push("busy", "first")
	q.Push("busy", "second")
	q.Push("busy", "third")
	q.Push("quiet", "only")
	for {
		item, ok := q.Pop()
		if !ok {
			break
		}
		fmt.Println(item)
	}
	// Output:
	// first
	// only
	// second
	// third
}
