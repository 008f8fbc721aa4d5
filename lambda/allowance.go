package lambda

import (
	"math"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// allowance is the time that the platform gives to an invocation. Moments are
// readings of the fast hand. The zero allowance has no end.
type allowance struct {
	given  time.Duration // when the invocation began
	margin time.Duration
	end    time.Duration // the platform's; 0 is never
}

// allow divides what is given from now on.
func allow(now, given, margin time.Duration) allowance {
	margin = max(min(margin+given/50, given/2), 0)
	// A reading of 0 would be no end: an hour ago is as much over as now.
	return allowance{given: given, margin: margin, end: max(now+given, 1)}
}

// noEnd is longer than any run.
const noEnd = time.Duration(math.MaxInt64)

// forScript is what is left for a script.
func (a allowance) forScript(now time.Duration) time.Duration {
	if a.end == 0 {
		return noEnd
	}
	return a.end - a.margin - now
}

// hostEnd is when the last request must have been answered, and the answer goes
// out; 0 is never.
func (a allowance) hostEnd() time.Duration {
	if a.end == 0 {
		return 0
	}
	return max(a.end-a.margin/5, 1)
}

// left is what is left before hostEnd.
func (a allowance) left(now time.Duration) time.Duration {
	if a.end == 0 {
		return noEnd
	}
	return a.hostEnd() - now
}

// near says that what is left is too little to begin with another message.
func (a allowance) near(now time.Duration) bool {
	return a.forScript(now) < a.margin
}

// bound shortens a run's timeout to what is left, and says whether it did.
func (a allowance) bound(limits *tenant.Limits, now time.Duration) bool {
	left := a.forScript(now)
	if limits.WithDefaults().Timeout <= left {
		return false
	}
	limits.Timeout = left
	return true
}

// timedOut is the error of a run that used up what the platform has left it.
func (a allowance) timedOut(limit time.Duration) *runtime.Error {
	return runtime.Errorf(runtime.Timeout,
		"the run took longer than the %v that the function's timeout left it: of %v at the start of the invocation a margin of %v is kept",
		max(limit, 0).Round(time.Millisecond), a.given.Round(time.Millisecond), a.margin.Round(time.Millisecond))
}

// prepare gives a run its ends.
func (i *invocation) prepare(inv *runtime.Invocation, clk *clock.Dual) (platform bool) {
	inv.HostEnd = i.hostEnd()
	return i.bound(&inv.Limits, clk.ElapsedMax())
}
