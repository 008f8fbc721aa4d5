package db

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Put stores value under key. The value is not to be used any more. Put returns
// the row's new revision; or, if the condition does not hold, "" and the
// conflicting row, nil if there is none. An error with [CodeUnknown] also comes
// with the conflicting row, if one was seen: its value may show whether the put
// was applied before it.
func (p *Partition) Put(ctx context.Context, scope RunScope, key string, value any, o PutOptions) (rev string, current *Row, err error) {
	e, err := p.ToPut(key, value, o)
	if err != nil {
		return "", nil, err
	}
	return p.put(ctx, scope, "put", e)
}

// put is Put as a part of the operation op.
func (p *Partition) put(ctx context.Context, scope RunScope, op string, e Entry) (rev string, current *Row, err error) {
	ok, current, err := p.writeCall(ctx, scope, op, e).change(e.write)
	if err != nil || !ok {
		return "", current, err
	}
	return e.write.Rev, nil, nil
}

// Delete removes the row of key. Without a condition it returns true, whether
// there was a row or not. With a revision as the condition it returns true only if
// this call has removed the row, and otherwise the conflicting row, nil if there
// is none.
func (p *Partition) Delete(ctx context.Context, scope RunScope, key string, condition Condition) (ok bool, current *Row, err error) {
	e, err := p.ToDelete(key, condition)
	if err != nil {
		return false, nil, err
	}
	return p.writeCall(ctx, scope, "delete", e).change(e.write)
}

// writeCall prepares the attempts of a single write.
func (p *Partition) writeCall(ctx context.Context, scope RunScope, op string, e Entry) *call {
	c := p.call(ctx, scope, op, e.key)
	c.writes = true
	switch {
	case e.write.Kind == Add:
		// Sent twice, it could be added twice.
		c.unknownMax = 0
	case e.write.If == Condition{}:
		c.unknownMax, c.staysInDoubt = attemptsMax, true
	default:
		// Under a revision only one of the attempts can be applied. But if the row
		// must be new, the first one can be applied once that of the second has
		// been deleted.
		c.unknownMax, c.staysInDoubt = 1, e.write.If.New
	}
	if p.reserved && e.write.Kind != Add {
		c.attemptsMax, c.unknownMax = reservedAttemptsMax, reservedAttemptsMax
	}
	return c
}

// write sends w, and repeats it as c allows.
func (c *call) write(w Write) (result outcome.Outcome, row *Row, err error) {
	var written RowResult
	result, err = c.do(func(ctx context.Context) outcome.Attempt {
		written = c.db.store.Write(ctx, w, c.db.now())
		return written.Attempt
	})
	return result, written.Row, err
}

// change sends a Put or Delete. If an attempt of unknown outcome comes before a
// refusal, that attempt may itself be the reason: then the row has the revision of
// w. If it has another one, that may have replaced ours, and the outcome stays
// unknown.
func (c *call) change(w Write) (ok bool, current *Row, err error) {
	result, row, err := c.write(w)
	switch {
	case err != nil:
		return false, nil, err
	case result == outcome.Applied:
		if !c.staysInDoubt {
			c.resolve()
		}
		return true, nil, nil
	case w.Rev != "" && row != nil && row.Rev == w.Rev:
		c.resolve()
		return true, nil, nil
	case c.unknown > 0:
		return false, c.db.alive(row), c.unknownError(nil)
	}
	return false, c.db.alive(row), nil
}

// AddResult is the result of [Partition.Add].
type AddResult struct {
	// Applied reports whether the addition was made. If not, the sum would have
	// crossed a bound.
	Applied bool
	// Sum is the number after an addition that was made.
	Sum float64
	// Current is the row if no addition was made, nil if there is none.
	Current *Row
}

// Add adds delta, a whole number within ±2^53, to the whole number under key; an
// absent row counts as 0. If another value is stored, that is an error with
// [CodeType]. An addition whose outcome is unknown is never repeated. Instead the
// row is read: if it has the revision of the addition, that was applied, and
// otherwise its outcome stays unknown ([CodeUnknown]).
func (p *Partition) Add(ctx context.Context, scope RunScope, key string, delta float64, o AddOptions) (AddResult, error) {
	e, err := p.ToAdd(key, delta, o)
	if err != nil {
		return AddResult{}, err
	}
	for range attemptsMax {
		c := p.writeCall(ctx, scope, "add", e)
		result, row, err := c.write(e.write)
		if result == outcome.Unknown {
			result = outcome.Applied
			row, err = p.lookUp(ctx, scope, c, e.write, err)
		}
		switch {
		case err != nil:
			return AddResult{}, err
		case result == outcome.Applied:
			return added(row.Value), nil
		case row == nil || p.db.alive(row) != nil:
			return AddResult{Current: row}, notAdded("add", e, row)
		}
		// The row has expired. A put takes its place, which has a condition and so
		// may be repeated.
		put, ok := e.write.asPut()
		if !ok {
			return AddResult{}, nil
		}
		rev, _, err := p.put(ctx, scope, "add", Entry{write: put, key: e.key})
		switch {
		case err != nil:
			return AddResult{}, err
		case rev != "":
			return added(put.Value), nil
		}
	}
	return AddResult{}, contentionError("add", e.key)
}

// added is the result of an addition after which the row has the value sum.
func added(sum any) AddResult {
	n, _ := sum.(float64)
	return AddResult{Applied: true, Sum: n}
}

// lookUp reads the row after an addition of unknown outcome: if it has the
// revision of w, that was applied. Otherwise lookUp returns the error lost.
func (p *Partition) lookUp(ctx context.Context, scope RunScope, c *call, w Write, lost error) (*Row, error) {
	row, err := p.get(ctx, scope, "add", c.key, false)
	if err != nil || row == nil || row.Rev != w.Rev {
		return nil, lost
	}
	c.resolve()
	return row, nil
}

// notAdded is the error for an addition to a row that is no whole number. It is
// nil if the bounds are the reason why e was refused.
func notAdded(op string, e Entry, row *Row) error {
	if row == nil {
		return nil
	}
	if _, whole := Whole(row.Value); whole {
		return nil
	}
	return withContext(refuse(CodeType, "the value is not a whole number within 2^53 of 0"), op, e.key)
}
