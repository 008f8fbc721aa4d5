package task_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/schedule"
	"github.com/tidelock-lua/tidelock/task/tasktest"
)

// scheduled is the configuration of a host with a schedule that is due each
// minute.
func scheduled(t *testing.T, store *memory.Store, engine runnertest.Engine) task.Config {
	t.Helper()
	clk := clock.NewDual(clock.System())
	locks, err := lock.New(clk, store, lock.MachineClock{}, lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return task.Config{
		Engine: engine, Tenants: runnertest.Tenants("a"), Clock: clk, Locks: locks, Store: store, Table: store,
		Schedules: []schedule.Schedule{{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *"}},
	}
}

func wantNoLocks(t *testing.T, store *memory.Store) {
	t.Helper()
	if page := store.ListLocks(context.Background(), "a", ""); len(page.Rows) > 0 {
		t.Errorf("got locks %v, want none", page.Rows)
	}
}

func TestServeFinishesAScheduledRunAndReleasesItsLock(t *testing.T) {
	for _, test := range []struct {
		work time.Duration
		ends time.Duration // after the request to stop
	}{{20 * time.Second, 19 * time.Second}, {40 * time.Second, 25 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New(clock.NewDual(clock.System()))
			c := scheduled(t, s, runnertest.Work(test.work))
			runnertest.WithTimeout(c.Tenants, "a", time.Minute)
			h := tasktest.Serve(t, c)
			time.Sleep(61 * time.Second)
			from := time.Now()
			h.Stop()
			if took := h.Took(from); took < test.ends || took > test.ends+pollTime {
				t.Errorf("took %v, want %v", took, test.ends)
			}
			list := h.Invocations()
			if len(list) != 1 || list[0].Status().Schedule != "tick" {
				t.Errorf("got %v, want one run of the schedule", list)
			}
			wantNoLocks(t, s)
		})
	}
}

func TestAbandonedRunOfAScheduleKeepsItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(clock.NewDual(clock.System()))
		release := make(chan struct{})
		c := scheduled(t, s, runnertest.Stuck(release))
		h := tasktest.Serve(t, c)
		time.Sleep(60*time.Second + 41*time.Second)
		page := s.ListLocks(t.Context(), "a", "")
		if len(page.Rows) != 1 || page.Rows[0].Name != "native:schedule/tick" || page.Rows[0].By.Script != "job.lua" {
			t.Errorf("got %v, want the schedule's lock", page.Rows)
		}
		list := h.Do("GET", "/v1/invocations", "")
		if entries, _ := list.Field("invocations").([]any); len(entries) != 1 || entries[0].(map[string]any)["schedule"] != "tick" ||
			entries[0].(map[string]any)["abandoned"] != true {
			t.Errorf("got %s, want one of the schedule, abandoned", list.Body)
		}
		close(release)
	})
}

func TestSlotIsGivenUpWhenTheHostStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(clock.NewDual(clock.System()))
		c := scheduled(t, s, runnertest.Work(10*time.Second))
		c.Limits.Concurrency = 1
		h := tasktest.Serve(t, c)
		time.Sleep(59 * time.Second)
		id := h.Begin("a", ``)
		time.Sleep(2 * time.Second) // the planned time waits for the slot
		from := time.Now()
		h.Stop()
		if took := h.Took(from); took < 8*time.Second || took > 8*time.Second+pollTime {
			t.Errorf("took %v, want the 8s that the run still takes", took)
		}
		inv, _ := h.Find(id)
		if _, failure := inv.Result(); failure != nil {
			t.Errorf("got %v, want none", failure)
		}
		wantNoLocks(t, s)
	})
}
