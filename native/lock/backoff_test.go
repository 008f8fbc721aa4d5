package lock

import (
	"slices"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// TestBackoff checks the pauses of a back-off whose jitter is fixed.
func TestBackoff(t *testing.T) {
	const ms = time.Millisecond
	none := func() float64 { return 0 }
	half := func() float64 { return 0.5 }
	all := func() float64 { return 1 }
	pauses := func(b *backoff, n int, between func(int)) (list []time.Duration) {
		for i := range n {
			between(i)
			list = append(list, b.pause().Round(ms))
		}
		return list
	}
	sameOwner := func(b *backoff) func(int) {
		return func(int) { b.refused(&Row{Owner: "a"}, 0) }
	}
	otherOwner := func(b *backoff) func(int) {
		return func(i int) { b.refused(&Row{Owner: string(rune('a' + i))}, 0) }
	}
	for _, test := range []struct {
		name    string
		poll    time.Duration
		jitter  func() float64
		between func(*backoff) func(int)
		want    []time.Duration
	}{
		{"GrowsToOneSecond", 0, all, sameOwner,
			[]time.Duration{25 * ms, 40 * ms, 64 * ms, 102 * ms, 164 * ms, 262 * ms, 419 * ms, 671 * ms, 1000 * ms, 1000 * ms}},
		{"HasFullJitter", 0, half, sameOwner, []time.Duration{13 * ms, 20 * ms, 32 * ms, 51 * ms}},
		{"MayBeNone", 0, none, sameOwner, []time.Duration{0, 0, 0}},
		{"StopsGrowingWhileTheOwnerChanges", 0, none, otherOwner,
			[]time.Duration{0, 0, 0, 0, 0, 0, 300 * ms, 300 * ms, 300 * ms}},
		{"HasEqualJitterWhileTheOwnerChanges", 0, all, otherOwner,
			[]time.Duration{25 * ms, 40 * ms, 64 * ms, 102 * ms, 164 * ms, 262 * ms, 150 * ms, 150 * ms}},
		{"PollsWithEqualJitter", 4 * time.Second, half, sameOwner, []time.Duration{3000 * ms, 3000 * ms}},
		{"PollsFourSecondsAtMost", 4 * time.Second, none, otherOwner, []time.Duration{4000 * ms, 4000 * ms}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBackoff(MachineClock{}, test.poll, test.jitter)
			if got := pauses(&b, len(test.want), test.between(&b)); !slices.Equal(got, test.want) {
				t.Errorf("got pauses %v, want %v", got, test.want)
			}
		})
	}
}

// TestBackoffEndsWithTheBlockingRow checks that no pause goes on once the row
// that refused the last put has run out.
func TestBackoffEndsWithTheBlockingRow(t *testing.T) {
	now := clock.Reading{Wall: time.UnixMilli(10_000)}
	for _, test := range []struct {
		name    string
		blocker *Row
		want    time.Duration
	}{
		{"NoRow", nil, time.Second},
		{"RunsOutLater", &Row{Until: 15_000}, time.Second},
		{"RunsOutBefore", &Row{Until: 10_300}, 300 * time.Millisecond},
		{"HasRunOutSinceThePut", &Row{Until: 9_950}, 0},
		{"HadRunOutBeforeThePut", &Row{Until: 9_900}, time.Second}, // so it says nothing
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBackoff(MachineClock{}, time.Second, func() float64 { return 0 })
			b.refused(test.blocker, 9_900)
			if got := b.next(now); got != test.want {
				t.Errorf("got a pause of %v, want %v", got, test.want)
			}
		})
	}
}
