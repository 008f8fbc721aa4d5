package vm

import (
	"slices"
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
)

func TestArrayHasALargestIndex(t *testing.T) {
	m := start(t, Config{})
	m.expect("0 1", `local t = {} t[2^21] = 1 return #t .. " " .. t[2^21]`)
}

func TestAtEndRunsTheNewestFirst(t *testing.T) {
	r := NewRun(Config{Clock: clock.NewDual(clock.System())})
	var closed []string
	for _, name := range []string{"older", "newer"} {
		r.AtEnd(func() { closed = append(closed, name) })
	}
	ctx := r.Context()
	r.AtEnd(func() {
		if ctx.Err() == nil {
			t.Error("the contexts of the run still live")
		}
	})
	r.Close()
	if want := []string{"newer", "older"}; !slices.Equal(closed, want) {
		t.Errorf("got %v, want %v", closed, want)
	}
}
