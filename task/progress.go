package task

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

// progress is what is known of a schedule's planned times, by all processes: a
// document in the store.
type progress struct {
	// last is the latest planned time that was begun or dropped. Those after it
	// are still to be decided.
	last time.Time
	// run is the run that was begun last, "" for none.
	run string
	// busy is until when it may run: what is planned before waits for it, and
	// isn't missed.
	busy time.Time
}

// read returns how far the schedule is, and the revision of that. At first
// sight the schedule begins when this host got it.
func (s *schedule) read(ctx context.Context) (progress, string, error) {
	var row db.RowResult
	at := again(ctx, func(ctx context.Context) outcome.Attempt {
		row = s.host.config.Store.Get(ctx, s.key, false)
		return row.Attempt
	})
	if at.Outcome != outcome.Applied {
		return progress{}, "", trouble(ctx, at)
	}
	if row.Row.Alive(time.Now().Unix()) {
		return parseProgress(row.Row.Value), row.Row.Rev, nil
	}
	first := progress{last: s.since}
	rev, ok, err := s.write(ctx, first, "")
	if err != nil || ok {
		return first, rev, err
	}
	return s.read(ctx)
}

// write stores how far the schedule is, if it still has revision rev ("": if
// there is nothing). An outcome that isn't known is found out.
func (s *schedule) write(ctx context.Context, p progress, rev string) (written string, ok bool, err error) {
	w := s.put(p, rev)
	var a db.RowResult
	lost := false
	for n := range outcomeTries {
		if n > 0 && !sleep(ctx, tablePause) {
			break
		}
		bounded, cancel := context.WithTimeout(ctx, tableTime)
		a = s.host.config.Store.Write(bounded, w, time.Now().Unix())
		cancel()
		switch a.Outcome {
		case outcome.Applied:
			return w.Rev, true, nil
		case outcome.Refused:
			// Our own write may be in the way, if its answer was lost, or what
			// somebody has made of it.
			ours := lost && a.Row != nil && p.run != "" && parseProgress(a.Row.Value).run == p.run
			return w.Rev, ours || a.Row != nil && a.Row.Rev == w.Rev, nil
		case outcome.Unknown:
			lost = true
		}
	}
	return "", false, fmt.Errorf("how far the schedule is can't be written: %w", trouble(ctx, a.Attempt))
}

func (s *schedule) put(p progress, rev string) db.Write {
	return db.Write{
		Kind: db.Put, Key: s.key, If: db.Condition{Rev: rev, New: rev == ""}, Rev: rand.Text(),
		Value: p.value(), Expires: time.Now().Add(keptFor).Unix(),
	}
}

func (p progress) value() value.Map {
	v := value.Map{"last": float64(p.last.UnixMilli()), "run": p.run}
	if !p.busy.IsZero() {
		v["busy"] = float64(p.busy.UnixMilli())
	}
	return v
}

func parseProgress(v any) (p progress) {
	m, _ := v.(value.Map)
	last, _ := m["last"].(float64)
	p.last = time.UnixMilli(int64(last))
	p.run, _ = m["run"].(string)
	if busy, ok := m["busy"].(float64); ok {
		p.busy = time.UnixMilli(int64(busy))
	}
	return p
}
