package vm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/clock/clocktest"
)

func TestCallContextEndsWithItsFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		m.deadlines.push(m.Clock().ElapsedMax() + 3*time.Second)
		ctx := m.Context()
		defer ctx.Stop()
		if err := ctx.Err(); err != nil {
			t.Fatalf("ended at once: %v", err)
		}
		began := time.Now()
		<-ctx.Done()
		if got := time.Since(began); got != 3*time.Second || context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("ended after %v because of %v", got, context.Cause(ctx))
		}
		derived, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if derived.Err() == nil {
			t.Error("a context derived from it goes on")
		}
	})
}

func TestCallContextEndedReadsBothClocks(t *testing.T) {
	clk := clocktest.NewManual()
	m := start(t, Config{Clock: clock.NewDual(clk), Yield: func() {}})
	m.deadlines.push(m.Clock().ElapsedMax() + time.Hour)
	call := m.Context()
	defer call.Stop()
	derived, cancel := context.WithTimeout(call, time.Hour)
	defer cancel()
	if clock.Ended(derived) || clock.Ended(t.Context()) {
		t.Error("ended before the deadline")
	}
	clk.Advance(2*time.Hour, 0) // stopped; no timer has noticed
	if !clock.Ended(derived) {
		t.Error("not ended after the deadline")
	}
	if detached := clock.Detach(derived); clock.Ended(detached) || detached.Err() != nil {
		t.Error("what is detached has ended")
	}
}

func TestCallContextEndsWithinASecondOfASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clocktest.NewManual()
		m := start(t, Config{Clock: clock.NewDual(clk)})
		m.deadlines.push(m.Clock().ElapsedMax() + time.Hour)
		ctx := m.Context()
		defer ctx.Stop()
		done := ctx.Done()
		clk.Advance(2*time.Hour, 0)
		began := time.Now()
		<-done
		if got := time.Since(began); got > time.Second {
			t.Errorf("noticed after %v", got)
		}
	})
}
