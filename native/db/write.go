package db

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Put stores value under key, and takes it over. It returns the row's new
// revision, or "" and the row in the way (nil if there is none) if the
// condition does not hold. An error of [CodeUnknown] comes with the row in the
// way too, if one was seen: its value may show whether it was made from this
// one.
func (p *Partition) Put(ctx context.Context, account RunScope, key string, value any, o PutOptions) (rev string, current *Row, err error) {
	e, err := p.ToPut(key, value, o)
	if err != nil {
		return "", nil, err
	}
	return p.put(ctx, account, "put", e)
}

// put is Put on behalf of any verb.
func (p *Partition) put(ctx context.Context, account RunScope, op string, e Entry) (rev string, current *Row, err error) {
	c := p.write(ctx, account, op, e)
	ok, current, err := c.store(e.write)
	if err != nil || !ok {
		return "", current, err
	}
	return e.write.Rev, nil, nil
}

// Delete removes the row of key. It returns true if the row is gone, whether
// it was there or not; with a revision as the condition, only if this call has
// removed it. Otherwise it returns the row in the way, nil if there is none.
func (p *Partition) Delete(ctx context.Context, account RunScope, key string, condition Condition) (ok bool, current *Row, err error) {
	e, err := p.ToDelete(key, condition)
	if err != nil {
		return false, nil, err
	}
	return p.delete(ctx, account, e)
}

func (p *Partition) delete(ctx context.Context, account RunScope, e Entry) (ok bool, current *Row, err error) {
	return p.write(ctx, account, "delete", e).store(e.write)
}

// write prepares the way of a single write to its answer.
func (p *Partition) write(ctx context.Context, account RunScope, op string, e Entry) *call {
	c := p.call(ctx, account, op, e.key)
	c.writes = true
	switch {
	case e.write.Kind == Add:
		// Sent twice, it might count twice.
		c.lostMax = 0
	case e.write.If == Condition{}:
		c.lostMax, c.strays = attemptsMax, true
	default:
		// The first attempt may still create the row once the second one's has
		// been deleted; a revision in the condition comes only once.
		c.lostMax, c.strays = 1, e.write.If.New
	}
	if p.reserved && e.write.Kind != Add {
		c.attemptsMax, c.lostMax = reservedAttemptsMax, reservedAttemptsMax
	}
	return c
}

// once sends the write, and repeats it as c allows.
func (c *call) once(w Write) (result outcome.Outcome, row *Row, err error) {
	var answer RowResult
	result, err = c.do(func(ctx context.Context) outcome.Attempt {
		answer = c.db.store.Write(ctx, w, c.db.now())
		return answer.Attempt
	})
	return result, answer.Row, err
}

// store sends a Put or Delete. A refusal that comes after an attempt whose
// answer was lost may have been caused by that attempt: then the row has our
// revision. If it has another one, nobody knows whether ours was there before.
func (c *call) store(w Write) (ok bool, current *Row, err error) {
	result, row, err := c.once(w)
	switch {
	case err != nil:
		return false, nil, err
	case result == outcome.Applied:
		if !c.strays {
			c.settle()
		}
		return true, nil, nil
	case w.Rev != "" && row != nil && row.Rev == w.Rev:
		c.settle()
		return true, nil, nil
	case c.lost > 0:
		return false, c.db.alive(row), c.unknown(nil)
	}
	return false, c.db.alive(row), nil
}

// Add adds delta, a whole number within ±2^53, to the whole number under key;
// nothing there counts as 0. It returns the sum, or ok false and the row (nil
// if there is none) if the sum would cross the bounds. An addition is never
// sent twice: if its answer is lost, the row is read, and unless its revision
// shows that nothing happened since, the outcome is unknown.
func (p *Partition) Add(ctx context.Context, account RunScope, key string, delta float64, o AddOptions) (sum float64, ok bool, current *Row, err error) {
	e, err := p.ToAdd(key, delta, o)
	if err != nil {
		return 0, false, nil, err
	}
	return p.add(ctx, account, e)
}

func (p *Partition) add(ctx context.Context, account RunScope, e Entry) (sum float64, ok bool, current *Row, err error) {
	for range attemptsMax {
		c := p.write(ctx, account, "add", e)
		result, row, err := c.once(e.write)
		if result == outcome.Unknown {
			result = outcome.Applied
			row, err = p.lookUp(ctx, account, c, e.write, err)
		}
		switch {
		case err != nil:
			return 0, false, nil, err
		case result == outcome.Applied:
			sum, _ := row.Value.(float64)
			return sum, true, nil, nil
		case row == nil || p.db.alive(row) != nil:
			return 0, false, row, notAdded("add", e, row)
		}
		// The row has expired. What an addition makes of nothing is put in its
		// place: a put with a condition, so it may be sent twice.
		put, ok := e.write.asPut()
		if !ok {
			return 0, false, nil, nil
		}
		rev, _, err := p.put(ctx, account, "add", Entry{write: put, key: e.key})
		if rev != "" || err != nil {
			sum, _ := put.Value.(float64)
			return sum, rev != "", nil, err
		}
	}
	return 0, false, nil, contention("add", e.key)
}

// lookUp reads what became of an addition whose answer was lost: if the row
// has its revision, it was applied. Otherwise lost is what to raise.
func (p *Partition) lookUp(ctx context.Context, account RunScope, c *call, w Write, lost error) (*Row, error) {
	row, err := p.get(ctx, account, "add", c.key, false)
	if err != nil || row == nil || row.Rev != w.Rev {
		return nil, lost
	}
	c.settle()
	return row, nil
}

// notAdded is the error if row is the reason why e could not be added to it,
// nil if the bounds are.
func notAdded(op string, e Entry, row *Row) error {
	if row == nil {
		return nil
	}
	if _, whole := Whole(row.Value); whole {
		return nil
	}
	return about(refuse(CodeType, "the value is not a whole number within 2^53 of 0"), op, e.key)
}
