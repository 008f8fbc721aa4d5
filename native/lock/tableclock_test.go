package lock_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// at is an answer that took no time.
func at(r clock.Reading, date time.Time) outcome.Attempt {
	return outcome.Attempt{Outcome: outcome.Applied, Sent: r, Received: r, Date: date}
}

// reading is one of clocks that agree.
func reading(d time.Duration) clock.Reading {
	return clock.Reading{Wall: noon.Add(d), ElapsedMax: d, ElapsedMin: d}
}

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestTableClockStartsUnknown(t *testing.T) {
	c := lock.NewTableClock(0, nil)
	c.Observe(at(reading(0), time.Time{}))
	if w := c.At(reading(0)); w.Known() || w.Epoch != 0 {
		t.Errorf("got %+v, want nothing known", w)
	}
}

func TestTableClockIsBoundedByADate(t *testing.T) {
	c := lock.NewTableClock(0, nil)
	// Sent at 1.0 s, received at 1.1 s with an ElapsedMin that is 20 ms behind.
	sent, received := reading(time.Second), reading(1100*time.Millisecond)
	received.ElapsedMin -= 20 * time.Millisecond
	c.Observe(outcome.Attempt{Sent: sent, Received: received, Date: noon})

	now := reading(3 * time.Second)
	now.ElapsedMin -= 50 * time.Millisecond
	got := c.At(now)
	// Since then ElapsedMin has grown by 1.87 s, ElapsedMax by 2 s; each bound has loosened by 1/2000 of the time since it was seen.
	earliest := noon.Add(-250*time.Millisecond + 1870*time.Millisecond - 950*time.Microsecond)
	latest := noon.Add(1250*time.Millisecond + 2*time.Second + time.Millisecond)
	if !got.Earliest.Equal(earliest) || !got.Latest.Equal(latest) || !got.Known() {
		t.Errorf("got %v to %v, want %v to %v", got.Earliest, got.Latest, earliest, latest)
	}
}

func TestTableClockKeepsTheBestBounds(t *testing.T) {
	c := lock.NewTableClock(0, nil)
	c.Observe(at(reading(0), noon))
	c.Observe(at(reading(900*time.Millisecond), noon)) // narrows the upper bound
	c.Observe(at(reading(950*time.Millisecond), noon.Add(time.Second)))
	w := c.At(reading(950 * time.Millisecond))
	if width := w.Latest.Sub(w.Earliest); width > 551*time.Millisecond || w.Epoch != 1 {
		t.Errorf("got %v in epoch %d, want at most 551 ms in epoch 1", width, w.Epoch)
	}
}

func TestTableClockLoosensUntilItIsUnknown(t *testing.T) {
	c := lock.NewTableClock(0, nil)
	c.Observe(at(reading(0), noon))
	if !c.At(reading(8 * time.Minute)).Known() {
		t.Error("not known after 8 minutes: 1.5 s and 2 x 240 ms are under 2 s")
	}
	if c.At(reading(9 * time.Minute)).Known() {
		t.Error("known after 9 minutes: 1.5 s and 2 x 270 ms are over 2 s")
	}
}

func TestTableClockBeginsAnEpochWithAContradiction(t *testing.T) {
	for name, off := range map[string]time.Duration{"later": 2 * time.Second, "earlier": -2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			c := lock.NewTableClock(0, nil)
			c.Observe(at(reading(0), noon))
			c.Observe(at(reading(0), noon.Add(off)))
			w := c.At(reading(0))
			if w.Epoch != 2 || !w.Earliest.Equal(noon.Add(off-250*time.Millisecond)) {
				t.Errorf("got %+v, want what the second answer says, in epoch 2", w)
			}
		})
	}
}

func TestSkewIsReportedOnce(t *testing.T) {
	var got []time.Duration
	c := lock.NewTableClock(0, func(off time.Duration) { got = append(got, off) })
	see := func(after, wallOff time.Duration) {
		r := reading(after)
		r.Wall = r.Wall.Add(wallOff)
		c.Observe(at(r, noon.Add(after).Truncate(time.Second)))
	}
	see(0, 2200*time.Millisecond) // 950 ms more than the table can show
	see(time.Second, 3*time.Second)
	see(2*time.Second, 3*time.Second)
	see(3*time.Second, 0)
	see(4*time.Second, -2*time.Second)
	if len(got) != 3 || got[0] < time.Second || got[1] != 0 || got[2] > -time.Second {
		t.Errorf("got reports %v, want one over 1 s, one of 0, one under -1 s", got)
	}
}

func TestSkewIsReportedWheneverItChanges(t *testing.T) {
	const far = 10 * time.Second
	for _, test := range []struct {
		name    string
		maxSkew time.Duration
		offs    []time.Duration // of the wall clock, at one answer after the other
		reports string          // what each of them causes: + ahead, - behind, 0 right again, . nothing
	}{
		{"a right clock", 0, []time.Duration{0, 100 * time.Millisecond, -100 * time.Millisecond}, "..."},
		{"ahead from the beginning", 0, []time.Duration{far, far}, "+."},
		{"behind from the beginning", 0, []time.Duration{-far, -far}, "-."},
		{"set forward", 0, []time.Duration{0, far}, ".+"},
		{"set back", 0, []time.Duration{0, -far}, ".-"},
		{"put right", 0, []time.Duration{far, 0, 0, -far, 0}, "+0.-0"},
		{"from one side to the other", 0, []time.Duration{far, -far, far, far}, "+-+."},
		{"days", 0, []time.Duration{0, 72 * time.Hour, 0, -72 * time.Hour}, ".+0-"},
		{"within what is allowed", time.Minute, []time.Duration{far, -far, 50 * time.Second}, "..."},
		{"beyond what is allowed", time.Minute, []time.Duration{2 * time.Minute, -2 * time.Minute}, "+-"},
		{"nearly as much as is allowed, for all that is known", 0, []time.Duration{2 * time.Second, -time.Second}, ".."},
	} {
		t.Run(test.name, func(t *testing.T) {
			var reports string
			c := lock.NewTableClock(test.maxSkew, func(off time.Duration) {
				switch {
				case off > 0:
					reports += "+"
				case off < 0:
					reports += "-"
				default:
					reports += "0"
				}
			})
			for i, off := range test.offs {
				r := reading(time.Duration(i) * time.Second)
				r.Wall = r.Wall.Add(off)
				before := len(reports)
				c.Observe(at(r, noon.Add(r.ElapsedMax)))
				if len(reports) == before {
					reports += "."
				}
			}
			if reports != test.reports {
				t.Errorf("got reports %s, want %s", reports, test.reports)
			}
		})
	}
}

// When an answer contradicts what was known, the wall clock is compared with
// the answer.
func TestSkewIsReportedAfterAContradiction(t *testing.T) {
	var got []time.Duration
	c := lock.NewTableClock(0, func(off time.Duration) { got = append(got, off) })
	c.Observe(at(reading(0), noon))
	c.Observe(at(reading(time.Second), noon.Add(time.Hour))) // both clocks have stood still for an hour
	if len(got) != 1 || got[0] > -59*time.Minute {
		t.Errorf("got reports %v, want one of about -1 h", got)
	}
}

func TestMachineClockIsTheWallClock(t *testing.T) {
	r := clock.Reading{Wall: noon, ElapsedMax: time.Hour, ElapsedMin: time.Minute}
	w := lock.MachineClock{}.At(r)
	if !w.Known() || !w.Earliest.Equal(noon) || !w.Latest.Equal(noon) {
		t.Errorf("got %+v, want exactly the wall clock", w)
	}
}

// However the machine's clocks are set, stopped and off, and however long
// requests take, true time lies within the interval.
func TestTableClockContainsTrueTime(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			ms := func(max int64) time.Duration { return time.Duration(rnd.Int64N(max)) * time.Millisecond }
			m := locktest.NewMachine(ms(100_000) - 50*time.Second)
			m.SetDrift(rnd.Int64N(1000) - 500)
			clk := clock.NewDual(m)
			c := lock.NewTableClock(0, nil)
			for range 100 {
				switch rnd.IntN(6) {
				case 0:
					m.Step(ms(20_000) - 10*time.Second)
				case 1:
					d := ms(60_000)
					time.Sleep(d)
					m.Suspend(d)
				case 2:
					time.Sleep(ms(100_000))
				default:
					sent := clk.Read()
					time.Sleep(ms(300))
					date := time.Now().Truncate(time.Second)
					time.Sleep(ms(300))
					c.Observe(outcome.Attempt{Sent: sent, Received: clk.Read(), Date: date})
				}
				truth := time.Now()
				w := c.At(clk.Read())
				if w.Epoch > 0 && (w.Earliest.After(truth) || w.Latest.Before(truth)) {
					t.Fatalf("seed %d: true time %v is not within %v to %v", seed, truth, w.Earliest, w.Latest)
				}
				if w.Epoch > 1 {
					t.Fatalf("seed %d: a correct answer began a new epoch", seed)
				}
			}
		})
	}
}
