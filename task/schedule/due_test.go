package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestDecideGoesByOverlapAndMissed(t *testing.T) {
	minute, _ := newRecurrence("* * * * *", "UTC")
	day := func(text string) time.Time {
		at, err := time.Parse("15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return at.AddDate(2026, 0, 0)
	}
	for _, test := range []struct {
		name, schedule  string // overlap and missed
		last, busy, now string
		begin, decided  string
		dropped         int
		reason          string
	}{
		{"nothing is due", "skip once", "10:00:00", "", "10:00:59", "", "", 0, ""},
		{"on time", "skip once", "10:00:00", "", "10:01:00", "10:01:00", "10:01:00", 0, ""},
		{"late, but not missed", "skip skip", "10:00:00", "", "10:01:59", "10:01:00", "10:01:00", 0, ""},
		{"several late", "skip once", "10:00:00", "", "10:05:30", "10:05:00", "10:05:00", 4, reasonMissed},
		{"several late, no matter", "skip skip", "10:00:00", "", "10:05:30", "10:05:00", "10:05:00", 4, reasonMissed},
		{"queued", "queue once", "10:00:00", "10:04:30", "10:04:30", "10:01:00", "10:01:00", 0, ""},
		{"queued, at the end of the run", "queue skip", "10:00:00", "10:01:00", "10:09:30", "10:01:00", "10:01:00", 0, ""},
		{"missed by a queue", "queue once", "10:00:00", "10:00:30", "10:09:30", "10:08:00", "10:08:00", 7, reasonMissed},
		{"missed by a queue, no matter", "queue skip", "10:00:00", "10:00:30", "10:09:30", "", "10:08:00", 8, reasonMissed},
		{"more than wait", "queue once", "00:00:00", "23:00:00", "23:00:00", "23:00:00", "23:00:00", 1000, reasonFull},
	} {
		overlap, missed, _ := strings.Cut(test.schedule, " ")
		s := Schedule{Overlap: Overlap(overlap), Missed: Missed(missed)}
		c := cursor{last: day(test.last)}
		if test.busy != "" {
			c.busy = day(test.busy)
		}
		got := s.decide(minute, c, day(test.now))
		want := decision{dropped: test.dropped, reason: test.reason}
		if test.begin != "" {
			want.run = day(test.begin)
		}
		if test.decided != "" {
			want.last = day(test.decided)
		}
		if got.dropped == 0 {
			got.reason = ""
		}
		if !got.run.Equal(want.run) || !got.last.Equal(want.last) || got.dropped != want.dropped || got.reason != want.reason {
			t.Errorf("%s: got %+v, want %+v", test.name, got, want)
		}
	}
}

func TestDecideFindsTheNewestOfManyMissed(t *testing.T) {
	hourly, _ := newRecurrence("@every 1h", "UTC")
	daily, _ := newRecurrence("30 3 * * 1", "UTC")
	now := time.Date(2026, 8, 5, 12, 10, 0, 0, time.UTC)
	s := Schedule{Overlap: OverlapSkip, Missed: MissedOnce}
	if d := s.decide(hourly, cursor{last: now.AddDate(-2, 0, 0)}, now); !d.run.Equal(now.Truncate(time.Hour)) {
		t.Errorf("got %v, want the newest", d.run)
	}
	if d := s.decide(daily, cursor{last: now.AddDate(-30, 0, 0)}, now); !d.run.Equal(time.Date(2026, 8, 3, 3, 30, 0, 0, time.UTC)) {
		t.Errorf("got %v, want the newest", d.run)
	}
	// The event of a due time.
	one := loop{Schedule: Schedule{Name: "n", Event: []byte(`{"k":[1]}`)}}
	text, err := one.event(now)
	if want := `{"event":{"k":[1]},"planned_at":"2026-08-05T12:10:00.000Z","schedule":"n"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}
