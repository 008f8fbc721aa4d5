package schedule

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
)

// A reload neither repeats nor loses a due time of what stays, ends what goes and
// begins what comes, and one that is refused changes nothing.
func TestReloadOfSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		hourly := Schedule{Name: "hourly", Tenant: "a", Script: "job", Cron: "0 * * * *"}
		c, _ := s.config(s.record(10*time.Minute), hourly)
		scheduler, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		scheduler.Start(ctx)
		defer func() { stop(); scheduler.Wait() }()
		reload := func(schedules ...Schedule) {
			t.Helper()
			commit, err := scheduler.Reload(schedules, c.Tenants)
			if err != nil {
				t.Fatal(err)
			}
			commit()
		}
		time.Sleep(time.Hour + 5*time.Minute) // in the middle of a run
		reload(hourly)
		if _, err := scheduler.Reload([]Schedule{{Name: "bad", Tenant: "a", Script: "missing", Cron: "* * * * *"}}, c.Tenants); err == nil {
			t.Error("a schedule whose script is missing was accepted")
		}
		if _, err := scheduler.Reload([]Schedule{hourly, hourly}, c.Tenants); err == nil {
			t.Error("two schedules of one name were accepted")
		}
		time.Sleep(time.Hour)
		s.wantRuns("01:00:00.000Z", "02:00:00.000Z")
		half := Schedule{Name: "half", Tenant: "a", Script: "job", Cron: "30 * * * *"}
		reload(half) // at 02:05, while the run of 02:00 goes on
		time.Sleep(time.Hour)
		s.wantRuns("01:00:00.000Z", "02:00:00.000Z", "02:30:00.000Z")
		reload()
		time.Sleep(3 * time.Hour)
		s.wantRuns("01:00:00.000Z", "02:00:00.000Z", "02:30:00.000Z")
		s.wantNoLocks()
	})
}

// flakyFolder can't be opened until it is repaired.
type flakyFolder struct {
	fs.FS
	repaired time.Time
}

func (f flakyFolder) Open(name string) (fs.File, error) {
	if time.Now().Before(f.repaired) && time.Since(f.repaired) > -time.Hour {
		return nil, &fs.PathError{Op: "openat", Path: name, Err: syscall.EMFILE}
	}
	return f.FS.Open(name)
}

// A due time whose script can't be read has not begun: it is run when it can.
func TestScheduleTriesAgainWhenItsScriptCanNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		c, _ := s.config(s.record(0), Schedule{Name: "tick", Tenant: "a", Script: "job", Cron: "0 2 * * *"})
		c.Tenants["a"] = runtime.Tenant{ID: "a", Scripts: []fs.FS{flakyFolder{
			fstest.MapFS{"job.lua": {Data: []byte("return 1")}}, time.Now().Add(2*time.Hour + 20*time.Second),
		}}}
		if _, failed := c.Tenants.Resolve("a", "job", nil); failed != nil {
			t.Fatal(failed)
		}
		s.run(c)
		time.Sleep(2*time.Hour + 10*time.Second)
		if _, failed := c.Tenants.Resolve("a", "job", nil); failed == nil || !errors.Is(failed.Cause, syscall.EMFILE) {
			t.Fatalf("got %v, want a folder that fails now", failed)
		}
		s.wantRuns()
		time.Sleep(time.Minute)
		s.wantRuns("02:00:00.000Z")
	})
}
