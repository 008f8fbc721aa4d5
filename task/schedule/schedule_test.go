package schedule

import (
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
)

func TestNewRefusesBadSchedules(t *testing.T) {
	good := Schedule{Name: "n", Tenant: "a", Script: "job", Cron: "* * * * *"}
	for name, change := range map[string]func(*Schedule){
		"no name":           func(s *Schedule) { s.Name = "" },
		"a name with /":     func(s *Schedule) { s.Name = "a/b" },
		"no such tenant":    func(s *Schedule) { s.Tenant = "b" },
		"no such script":    func(s *Schedule) { s.Script = "none" },
		"no JSON":           func(s *Schedule) { s.Event = []byte("{") },
		"unknown zone":      func(s *Schedule) { s.Zone = "Mars/Olympus" },
		"the machine's":     func(s *Schedule) { s.Zone = "Local" },
		"unknown overlap":   func(s *Schedule) { s.Overlap = "allow" },
		"unknown missed":    func(s *Schedule) { s.Missed = "all" },
		"no time":           func(s *Schedule) { s.Cron = "" },
		"four fields":       func(s *Schedule) { s.Cron = "* * * *" },
		"six fields":        func(s *Schedule) { s.Cron = "* * * * * *" },
		"minute 60":         func(s *Schedule) { s.Cron = "60 * * * *" },
		"step 0":            func(s *Schedule) { s.Cron = "*/0 * * * *" },
		"a word":            func(s *Schedule) { s.Cron = "@hourly" },
		"no such day":       func(s *Schedule) { s.Cron = "0 0 30 2 *" },
		"the last day":      func(s *Schedule) { s.Cron = "0 0 L * *" },
		"every 0":           func(s *Schedule) { s.Cron = "@every 0s" },
		"every 1 ns":        func(s *Schedule) { s.Cron = "@every 1ns" },
		"every 99 ms":       func(s *Schedule) { s.Cron = "@every 99ms" },
		"every 100.5 ms":    func(s *Schedule) { s.Cron = "@every 100.5ms" },
		"every 300 years":   func(s *Schedule) { s.Cron = "@every 2628000h" },
		"every -1s":         func(s *Schedule) { s.Cron = "@every -1s" },
		"every second Tues": func(s *Schedule) { s.Cron = "@every tuesday" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := newSite(t).config(runnertest.Work(0))
				s := good
				change(&s)
				c.Schedules = []Schedule{s}
				if _, err := New(c); err == nil {
					t.Error("want an error")
				}
				c.Schedules = []Schedule{good}
				if _, err := New(c); err != nil {
					t.Errorf("got %v, want none", err)
				}
				c.Schedules = []Schedule{good, good}
				if _, err := New(c); err == nil {
					t.Error("two of one name: want an error")
				}
			})
		})
	}
}
