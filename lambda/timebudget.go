package lambda

import (
	"math"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// timeBudget is the time that the platform gives to an invocation. Points in
// time are readings of [clock.Dual.ElapsedMax]. The zero value is unlimited.
type timeBudget struct {
	total    time.Duration // at the start of the invocation
	margin   time.Duration // kept of it for ending the invocation in order
	deadline time.Duration // the platform's; 0 is none
}

// totalMax bounds an invocation's time, so that no sum with it overflows: the
// platform's deadline is any number.
const totalMax = 10 * 365 * 24 * time.Hour

// newTimeBudget returns the budget of an invocation that begins now and may take
// total, at most ten years. The configured margin is extended by a fiftieth of
// total; at most half of total is kept. A deadline that has passed leaves nothing.
func newTimeBudget(now, total, margin time.Duration) timeBudget {
	total = max(min(total, totalMax), 0)
	margin = max(min(margin+total/50, total/2), 0)
	// A deadline that has passed must not become 0, which is none.
	return timeBudget{total: total, margin: margin, deadline: max(now+total, 1)}
}

// unlimited is longer than any run.
const unlimited = time.Duration(math.MaxInt64)

// scriptTime returns how long a script may still run.
func (b timeBudget) scriptTime(now time.Duration) time.Duration {
	if b.deadline == 0 {
		return unlimited
	}
	return min(b.total-b.margin, b.deadline-b.margin-now)
}

// hostDeadline returns when the last request of a run must have been answered
// and the response is sent; 0 is never.
func (b timeBudget) hostDeadline() time.Duration {
	if b.deadline == 0 {
		return 0
	}
	return max(b.deadline-b.margin/5, 1)
}

// remaining returns the time left before hostDeadline.
func (b timeBudget) remaining(now time.Duration) time.Duration {
	if b.deadline == 0 {
		return unlimited
	}
	return b.hostDeadline() - now
}

// exhausted reports whether too little time is left to begin another message.
func (b timeBudget) exhausted(now time.Duration) bool {
	return b.scriptTime(now) < b.margin
}

// limitTimeout shortens a run's timeout to the time that is left, and reports
// whether it did.
func (b timeBudget) limitTimeout(limits *tenant.Limits, now time.Duration) bool {
	left := b.scriptTime(now)
	if limits.WithDefaults().Timeout <= left {
		return false
	}
	limits.Timeout = left
	return true
}

// timedOut returns the error of a run that used up the time budget.
func (b timeBudget) timedOut(limit time.Duration) *runtime.Error {
	return runtime.Errorf(runtime.Timeout,
		"the run took longer than the %v that the function's timeout left it: of %v at the start of the invocation a margin of %v is kept",
		max(limit, 0).Round(time.Millisecond), b.total.Round(time.Millisecond), b.margin.Round(time.Millisecond))
}

// applyBudget bounds a run by the time budget, and reports whether that
// shortened its timeout.
func (i *invocation) applyBudget(inv *runtime.Invocation, clk *clock.Dual) (shortened bool) {
	inv.HostEnd = i.hostDeadline()
	return i.limitTimeout(&inv.Limits, clk.ElapsedMax())
}
