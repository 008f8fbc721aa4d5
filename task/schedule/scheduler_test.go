package schedule

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// In fake time a bubble begins at midnight.
func TestSchedulerRunsEachDueTimeOnceInThreeProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		for range 3 {
			s.start(s.record(10*time.Millisecond), Schedule{Cron: "@every 100ms", Overlap: OverlapQueue})
		}
		time.Sleep(10*time.Second + 50*time.Millisecond)
		s.wantRuns(times("00:00:00.100Z", 100*time.Millisecond, 100)...)
		synctest.Wait()
		s.wantNoLocks()
	})
}

func TestSchedulerTakesOverFromAProcessThatDiesBeforeItHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		due := time.Now().Add(2 * time.Minute)
		var died sync.Once
		s.locked = func(p *process) { // whoever gets the lock for 00:02 dies with it, before it writes
			if !time.Now().Before(due) {
				died.Do(p.die)
			}
		}
		for range 2 {
			s.start(s.record(0), Schedule{Cron: "* * * * *", Missed: MissedSkip})
		}
		time.Sleep(150 * time.Second)
		s.wantRuns("00:01:00.000Z")
		time.Sleep(25 * time.Second) // 30 s limit, 5 s, guard: the lock has run out
		s.wantRuns("00:01:00.000Z", "00:02:00.000Z")
	})
}

// The write by which a run begins arrives so late that another process has
// taken over.
func TestSchedulerBeginsNothingByALateWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.late = 50 * time.Second
		for range 2 {
			s.start(s.record(0), Schedule{Cron: "* * * * *"})
		}
		time.Sleep(2*time.Minute - time.Second)
		s.wantRuns("00:01:00.000Z")
	})
}

func TestSchedulerDoesNotRepeatARunWhoseProcessDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var first *process
		dies := runnertest.Engine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			first.die()
			return s.record(0)(ctx, inv)
		})
		first, _ = s.start(dies, Schedule{Cron: "*/2 * * * *"})
		time.Sleep(time.Second)
		s.start(s.record(0), Schedule{Cron: "*/2 * * * *"})
		time.Sleep(4*time.Minute + time.Second)
		s.wantRuns("00:02:00.000Z", "00:04:00.000Z")
	})
}

func TestSchedulerSkipsOrQueuesOverlaps(t *testing.T) {
	for overlap, want := range map[Overlap][]string{
		OverlapSkip:  {"00:01:00.000Z", "00:03:00.000Z", "00:05:00.000Z"},
		OverlapQueue: {"00:01:00.000Z", "00:02:00.000Z", "00:03:00.000Z", "00:04:00.000Z"},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				var dropped atomic.Int64
				for range 2 {
					c, _ := s.config(s.record(90*time.Second),
						Schedule{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *", Overlap: overlap, Missed: MissedSkip})
					runnertest.WithTimeout(c.Tenants, "a", 3*time.Minute)
					c.Dropped = func(_ tenant.ID, _ string, n int) { dropped.Add(int64(n)) }
					s.run(c)
				}
				time.Sleep(6*time.Minute - time.Second)
				s.wantRuns(want...)
				if got, want := dropped.Load(), map[Overlap]int64{OverlapSkip: 2}[overlap]; got != want {
					t.Errorf("got %d dropped, want %d", got, want)
				}
			})
		})
	}
}

func TestSchedulerMakesUpForMissedTimesOnceOrNot(t *testing.T) {
	for missed, want := range map[Missed][]string{
		MissedOnce: {"01:00:00.000Z", "05:00:00.000Z", "06:00:00.000Z"},
		MissedSkip: {"01:00:00.000Z", "06:00:00.000Z"},
	} {
		t.Run(string(missed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				one := Schedule{Cron: "0 * * * *", Missed: missed}
				_, stop := s.start(s.record(0), one)
				time.Sleep(90 * time.Minute)
				stop()
				time.Sleep(4 * time.Hour) // until 05:30
				s.start(s.record(0), one)
				time.Sleep(time.Hour)
				s.wantRuns(want...)
			})
		})
	}
}

func TestSchedulerBeginsAnewWithAnotherRecurrence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		_, stop := s.start(s.record(0), Schedule{Cron: "0 1 * * *"})
		time.Sleep(5*time.Hour + 30*time.Minute)
		stop()
		s.start(s.record(0), Schedule{Cron: "0 4,6 * * *"})
		time.Sleep(time.Hour)
		s.wantRuns("01:00:00.000Z", "06:00:00.000Z")
	})
}

func TestSchedulerLosesNoDueTimeToFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		n := 0
		s.fault = func(op string) outcome.Outcome { // every third request
			s.mu.Lock()
			defer s.mu.Unlock()
			if n++; n%3 == 0 && op != "put lock" && op != "delete lock" {
				return outcome.Unknown
			}
			return outcome.Applied
		}
		for range 2 {
			s.start(s.record(0), Schedule{Cron: "@every 1s", Overlap: OverlapQueue})
		}
		time.Sleep(30*time.Second + 500*time.Millisecond)
		s.setFault(outcome.NotApplied)
		time.Sleep(20 * time.Second)
		s.setFault(outcome.Applied)
		time.Sleep(10*time.Second + 400*time.Millisecond)
		s.wantRuns(times("00:00:01.000Z", time.Second, 60)...)
	})
}

func TestSchedulerDoesNotRepeatAfterTheClockWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		c, _ := s.config(s.record(0), Schedule{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *"})
		scheduler, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		// Another process, whose clock is ahead, has begun 00:05.
		ahead := cursor{last: time.Now().Add(5 * time.Minute), run: "other"}
		if _, ok, err := onlyLoop(t, scheduler).document.write(t.Context(), ahead); !ok || err != nil {
			t.Fatal(ok, err)
		}
		stop := s.run(c)
		time.Sleep(6*time.Minute + time.Second)
		stop()
		s.wantRuns("00:06:00.000Z")
	})
}
