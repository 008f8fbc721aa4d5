package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestWaitHasItsLastAttemptRightBeforeItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		p.knowTime(t)
		started := time.Now()
		p.mustBeHeld(t, wait(5*time.Second))
		puts := s.Requests("put")
		last := puts[len(puts)-1].At.Sub(started)
		if last > 5*time.Second || last < 4990*time.Millisecond {
			t.Errorf("the last attempt started %v after the start, want just before 5 s", last)
		}
	})
}

func TestWaitEndsWithTheFasterClock(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		stepped := time.Now().Add(2 * time.Second)
		time.AfterFunc(2*time.Second, func() { p.machine.Step(4 * time.Second) })
		p.mustBeHeld(t, wait(5*time.Second))
		puts := s.Requests("put")
		if last := puts[len(puts)-1].At; last.After(stepped) {
			t.Errorf("an attempt started %v after the end of the wait", last.Sub(stepped))
		}
	})
}

func TestWaitEndsWithTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		d := took(func() { p.mustBeHeld(t, lease(2*time.Second), wait(time.Hour)) })
		if d > 2*time.Second {
			t.Errorf("waited for %v, want 2 s", d)
		}
		if len(p.warned) != 1 {
			t.Errorf("got warnings %q, want one", p.warned)
		}
	})
}

func TestTurnCountsTheLeaseFromTheAttemptThatSucceeded(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		holder, p := start(t, s, 0).acquire(t), start(t, s, 0)
		time.AfterFunc(20*time.Second, func() { holder.Release(context.Background()) })
		started := p.clock.ElapsedMax()
		l := p.acquire(t, turn, lease(10*time.Second))
		puts := s.Requests("put")
		sent := puts[len(puts)-1].At
		if got, want := l.End-p.clock.ElapsedMax(), 10*time.Second-time.Since(sent); got != want {
			t.Errorf("got %v left, want %v", got, want)
		}
		if waited := p.clock.ElapsedMax() - started; waited < 20*time.Second {
			t.Errorf("waited for %v, want 20 s", waited)
		}
	})
}

func TestTurnCountsTheLeaseFromTheStoredPut(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{Kind: locktest.Lost}, locktest.Fault{Kind: locktest.AnswerLost, After: time.Second})
		l := p.acquire(t, turn, lease(10*time.Second), func(r *lock.Request) { r.Poll = time.Second })
		puts := s.Requests("put")
		stored := puts[len(puts)-2]
		if l.Row != stored.Row {
			t.Errorf("got row %+v, want that of the attempt that was stored, %+v", l.Row, stored.Row)
		}
		if got, want := l.End-p.clock.ElapsedMax(), 10*time.Second-time.Since(stored.At); got != want {
			t.Errorf("got %v left, want %v", got, want)
		}
	})
}

func TestTurnPausesAsPollSays(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t, lease(time.Hour))
		p := start(t, s, 0)
		p.knowTime(t)
		before := len(s.Requests("put"))
		ended := errors.New("over")
		p.locks.Acquire(cancelAfter(t, time.Minute, ended), request(turn, func(r *lock.Request) { r.Poll = 4 * time.Second }))
		if n := len(s.Requests("put")) - before; n < 60/4 || n > 60/2+1 {
			t.Errorf("got %d attempts in a minute, want one every 2 to 4 s", n)
		}
	})
}

func TestWaitSpreadsTheAttemptsOfManyProcesses(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		holder := start(t, s, 0).acquire(t, lease(time.Hour))
		for range 10 {
			p := start(t, s, 0)
			for range 20 {
				go p.locks.Acquire(t.Context(), request(lease(time.Minute), wait(20*time.Second)))
			}
		}
		started := time.Now()
		time.Sleep(30 * time.Second)
		puts := s.Requests("put")[1:]
		buckets := map[time.Duration]int{}
		for _, put := range puts {
			if since := put.At.Sub(started); since > 2*time.Second && since < 19*time.Second {
				buckets[since/(50*time.Millisecond)]++
			}
		}
		for at, n := range buckets {
			if n > len(puts)/20 {
				t.Errorf("got %d of %d attempts in the 50 ms from %v on, want 5 %% at most", n, len(puts), at*50*time.Millisecond)
			}
		}
		if most := 10 * 20 * 4; len(puts) > most {
			t.Errorf("got %d attempts of 10 processes in 20 s, want %d at most", len(puts), most)
		}
		holder.Release(t.Context())
		if !slices.Equal(s.Rows(), nil) {
			t.Errorf("got rows %v, want none of waiters", s.Rows())
		}
	})
}

func TestTurnWithALeaseTooShortForTheTableNeverRuns(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		ended := errors.New("over")
		l, err := p.locks.Acquire(cancelAfter(t, 10*time.Second, ended), request(turn, lease(5*time.Millisecond)))
		if l != nil || err != ended {
			t.Errorf("got lease %v and error %v, want the run's error", l, err)
		}
	})
}
