package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// dueAfter are the first n due times after from, as local times of zone.
func dueAfter(t *testing.T, expr, zone, from string, n int) []string {
	t.Helper()
	p, err := newRecurrence(expr, zone)
	if err != nil {
		t.Fatal(err)
	}
	loc, _ := time.LoadLocation(zone)
	at, err := time.ParseInLocation("2006-01-02 15:04", from, loc)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for range n {
		at = p.next(at)
		out = append(out, at.In(loc).Format("01-02 15:04 MST"))
	}
	return out
}

func TestCronAtLocalTimesThatAreLeftOutOrComeTwice(t *testing.T) {
	for _, test := range []struct {
		name, expr, zone, from string
		want                   string
	}{
		{"left out", "30 2 * * *", "Europe/Berlin", "2026-03-28 00:00", "03-28 02:30 CET, 03-29 03:00 CEST, 03-30 02:30 CEST"},
		{"several left out", "*/20 2 * * *", "Europe/Berlin", "2026-03-28 12:00", "03-29 03:00 CEST, 03-30 02:00 CEST, 03-30 02:20 CEST"},
		{"left out, and due after the jump too", "0 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00", "03-29 03:00 CEST, 03-30 02:00 CEST"},
		{"hours go on", "0 * * * *", "Europe/Berlin", "2026-03-29 00:30", "03-29 01:00 CET, 03-29 03:00 CEST, 03-29 04:00 CEST"},
		{"twice", "30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "10-25 02:30 CEST, 10-26 02:30 CET"},
		{"several twice", "*/30 * * * *", "Europe/Berlin", "2026-10-25 01:45", "10-25 02:00 CEST, 10-25 02:30 CEST, 10-25 02:00 CET, 10-25 02:30 CET, 10-25 03:00 CET"},
		{"a wildcard hour goes on", "30 * * * *", "Europe/Berlin", "2026-10-25 01:00", "10-25 01:30 CEST, 10-25 02:30 CEST, 10-25 02:30 CET, 10-25 03:30 CET"},
		{"a wildcard minute goes on", "*/30 2 * * *", "Europe/Berlin", "2026-10-25 01:00", "10-25 02:00 CEST, 10-25 02:30 CEST, 10-25 02:00 CET, 10-25 02:30 CET, 10-26 02:00 CET"},
		{"hours in steps", "15 */2 * * *", "Europe/Berlin", "2026-10-25 01:00", "10-25 02:15 CEST, 10-25 02:15 CET, 10-25 04:15 CET"},
		{"a range of hours is fixed", "30 1-3 * * *", "Europe/Berlin", "2026-10-25 01:00", "10-25 01:30 CEST, 10-25 02:30 CEST, 10-25 03:30 CET"},
		{"a wildcard hour that is left out", "30 * * * *", "Europe/Berlin", "2026-03-29 01:00", "03-29 01:30 CET, 03-29 03:30 CEST"},
		{"half an hour twice", "*/15 1 * * *", "Australia/Lord_Howe", "2026-04-05 01:20", "04-05 01:30 +11, 04-05 01:45 +11, 04-05 01:30 +1030, 04-05 01:45 +1030, 04-06 01:00 +1030"},
		{"half an hour twice, fixed", "45 1 * * *", "Australia/Lord_Howe", "2026-04-05 00:00", "04-05 01:45 +11, 04-06 01:45 +1030"},
		{"before midnight twice", "30 23 * * *", "America/Sao_Paulo", "2019-02-16 12:00", "02-16 23:30 -02, 02-17 23:30 -03"},
		{"before midnight twice, wildcard", "*/30 23 * * *", "America/Sao_Paulo", "2019-02-16 12:00", "02-16 23:00 -02, 02-16 23:30 -02, 02-16 23:00 -03, 02-16 23:30 -03, 02-17 23:00 -03"},
		{"midnight that is left out", "0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", "11-04 01:00 -02, 11-05 00:00 -02"},
		{"the south", "30 2 * * *", "America/Santiago", "2026-09-05 12:00", "09-06 02:30 -03, 09-07 02:30 -03"},
		{"at midnight", "0 0 * * *", "America/Santiago", "2026-09-05 12:00", "09-06 01:00 -03, 09-07 00:00 -03"},
		{"New York", "15 2 * * *", "America/New_York", "2026-03-07 12:00", "03-08 03:00 EDT, 03-09 02:15 EDT"},
		{"half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", "10-04 02:30 +11, 10-05 02:15 +11"},
		{"a day", "0 12 * * *", "Pacific/Apia", "2011-12-29 00:00", "12-29 12:00 -10, 12-31 00:00 +14, 12-31 12:00 +14"},
	} {
		n := strings.Count(test.want, ",") + 1
		if got := strings.Join(dueAfter(t, test.expr, test.zone, test.from, n), ", "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// Due times around changes of offsets are those of a walk over all minutes: one
// that shows a matching time is due, unless the expression is fixed and the time
// was shown before; the first minute after a jump stands for what it left out.
func TestCronAgreesWithAWalkAroundChangesOfOffset(t *testing.T) {
	changes := map[string][]string{
		"Europe/Berlin":       {"2026-03-29", "2026-10-25", "2040-10-28"},
		"America/New_York":    {"2026-03-08", "2026-11-01"},
		"Australia/Lord_Howe": {"2026-04-05", "2026-10-04"},
		"America/Sao_Paulo":   {"2018-11-04", "2019-02-17"},
		"Pacific/Apia":        {"2011-12-30"},
		"UTC":                 {"2026-06-01"},
	}
	minutes := []string{"0", "30", "59", "*", "*/7", "*/20", "10-50/20", "0,15,45"}
	hours := []string{"0", "1", "2", "3", "23", "*", "*/2", "1-3", "2,23", "0-23"}
	for zone, days := range changes {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			start, err := time.ParseInLocation(time.DateOnly, day, loc)
			if err != nil {
				t.Fatal(err)
			}
			for _, minute := range minutes {
				for _, hour := range hours {
					expr := minute + " " + hour + " * * *"
					want := walkMinutes(minute, hour, start.AddDate(0, 0, -1), start.AddDate(0, 0, 2))
					r, err := newRecurrence(expr, zone)
					if err != nil {
						t.Fatal(err)
					}
					var got []time.Time
					for at := r.next(start.AddDate(0, 0, -1).Add(-time.Minute)); at.Before(start.AddDate(0, 0, 2)); at = r.next(at) {
						got = append(got, at)
					}
					if !slices.EqualFunc(got, want, time.Time.Equal) {
						t.Errorf("%s in %s around %s:\ngot  %v\nwant %v", expr, zone, day, got, want)
					}
					if len(want) > 0 { // from each minute the next one is the same
						for at := start; at.Before(want[len(want)-1]); at = at.Add(13 * time.Minute) {
							i := slices.IndexFunc(want, func(w time.Time) bool { return w.After(at) })
							if next := r.next(at); !next.Equal(want[i]) {
								t.Errorf("%s in %s after %v: got %v, want %v", expr, zone, at, next, want[i])
							}
						}
					}
				}
			}
		}
	}
}

// walkMinutes are the due times from start to end, by the rules alone.
func walkMinutes(minute, hour string, start, end time.Time) (due []time.Time) {
	minutes, hours := matches(minute, 0, 59), matches(hour, 0, 23)
	fixed := !strings.HasPrefix(minute, "*") && !strings.HasPrefix(hour, "*")
	const layout = "2006-01-02 15:04"
	shown := map[string]bool{}
	before := naive(start.Add(-24 * time.Hour))
	for at := start.Add(-24 * time.Hour); at.Before(end); at = at.Add(time.Minute) {
		local := naive(at)
		isDue := minutes[local.Minute()] && hours[local.Hour()] && !(fixed && shown[local.Format(layout)])
		for left := before.Add(time.Minute); left.Before(local) && !strings.HasPrefix(hour, "*"); left = left.Add(time.Minute) {
			isDue = isDue || minutes[left.Minute()] && hours[left.Hour()]
		}
		shown[local.Format(layout)], before = true, local
		if isDue && !at.Before(start) {
			due = append(due, at)
		}
	}
	return due
}

func TestCronFindsRareDays(t *testing.T) {
	for expr, want := range map[string]string{
		"0 0 29 2 *":           "02-29 00:00 UTC 02-29 00:00 UTC",
		"0 12 31 * *":          "01-31 12:00 UTC 03-31 12:00 UTC",
		"5 4 * * SUN":          "01-04 04:05 UTC 01-11 04:05 UTC",
		"5 4 * * 7":            "01-04 04:05 UTC 01-11 04:05 UTC",
		"0 0 13 * fri":         "01-02 00:00 UTC 01-09 00:00 UTC", // a day of either kind
		"1-3,50 0 1 JAN-mar *": "01-01 00:01 UTC 01-01 00:02 UTC",
	} {
		if got := strings.Join(dueAfter(t, expr, "UTC", "2026-01-01 00:00", 2), " "); got != want {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
}

func TestEveryIsAlignedAndHasBounds(t *testing.T) {
	at := time.UnixMilli(1_000_050)
	for text, want := range map[string]int64{
		"100ms": 1_000_100, "1s": 1_001_000, "90s": 1_080_000, "600h": 25 * 86400 * 1000,
		time.Duration(math.MaxInt64).Truncate(time.Millisecond).String(): math.MaxInt64 / 1_000_000,
	} {
		p, err := newRecurrence("@every "+text, "UTC")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.next(at).UnixMilli(); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
		if got := p.next(p.next(at)).Sub(p.next(at)); text != "2562047h47m16.854s" && got.String() != mustDuration(t, text).String() {
			t.Errorf("%s: the next one comes %v later", text, got)
		}
	}
}

func mustDuration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// matches is what cron(8) says of one field, by itself: the values that it
// names.
func matches(field string, low, high int) (all [60]bool) {
	for item := range strings.SplitSeq(field, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		step := 1
		if stepped {
			step, _ = strconv.Atoi(stepText)
		}
		from, to := low, high
		if span != "*" {
			a, b, isRange := strings.Cut(span, "-")
			from, _ = strconv.Atoi(a)
			if to = from; isRange {
				to, _ = strconv.Atoi(b)
			}
		}
		for value := from; value <= to; value += step {
			all[value] = true
		}
	}
	return all
}

// Random expressions agree with a walk over all minutes.
func TestCronAgreesWithAWalkOverAllMinutes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	field := func(low, high int) string {
		n := func() int { return low + random.IntN(high-low+1) }
		switch random.IntN(6) {
		case 0:
			return strconv.Itoa(n())
		case 1:
			a, b := n(), n()
			return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
		case 2:
			return fmt.Sprintf("*/%d", 1+random.IntN(high))
		case 3:
			a, b := n(), n()
			return fmt.Sprintf("%d-%d/%d,%d", min(a, b), max(a, b), 1+random.IntN(9), n())
		}
		return "*"
	}
	for range 300 {
		f := []string{field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6)}
		expr := strings.Join(f, " ")
		start := time.Date(2026, time.Month(1+random.IntN(12)), 1+random.IntN(28), random.IntN(24), random.IntN(60), 0, 0, time.UTC)
		p, err := newRecurrence(expr, "UTC")
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		minutes, hours, months := matches(f[0], 0, 59), matches(f[1], 0, 23), matches(f[3], 1, 12)
		monthDays, weekdays := matches(f[2], 1, 31), matches(f[4], 0, 6)
		var want []time.Time
		for at := start.Add(time.Minute); len(want) < 3 && at.Sub(start) < 100*24*time.Hour; at = at.Add(time.Minute) {
			if !minutes[at.Minute()] || !hours[at.Hour()] || !months[at.Month()] {
				continue
			}
			day, weekday := monthDays[at.Day()], weekdays[at.Weekday()]
			// A day of either kind, unless one of them begins with a star.
			either := !strings.HasPrefix(f[2], "*") && !strings.HasPrefix(f[4], "*")
			if day && weekday || either && (day || weekday) {
				want = append(want, at)
			}
		}
		var got []time.Time
		for at := start; len(got) < len(want); {
			at = p.next(at)
			got = append(got, at)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%s after %v: got %v, want %v", expr, start, got, want)
		}
	}
}
