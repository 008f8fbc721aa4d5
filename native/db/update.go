package db

import "context"

// updatesMax is how often Update calls its function at most.
const updatesMax = 8

// Update replaces the value under key. It calls change with the row, nil if there
// is none, and stores what change returns; nil leaves the row as it is. If another
// write comes between, change is called again with the new row, up to 8 times
// ([CodeContention]). It runs outside of any transaction, so it may be slow. The
// row keeps its expiry.
//
// Update returns the row as written, nil if change returned nil. Errors of change
// are returned as they are.
func (p *Partition) Update(ctx context.Context, scope RunScope, key string, change func(*Row) (any, error)) (*Row, error) {
	if err := checkKey(key); err != nil {
		return nil, withContext(err, "update", key)
	}
	row, err := p.get(ctx, scope, "update", key, false)
	if err != nil {
		return nil, notApplied(err)
	}
	for n := 1; ; n++ {
		value, err := change(row)
		if err != nil || value == nil {
			return nil, err
		}
		e, err := p.replacing(row, key, value)
		if err != nil {
			return nil, err
		}
		rev, current, err := p.put(ctx, scope, "update", e)
		switch {
		case err != nil:
			return nil, err
		case rev != "":
			return &Row{Value: e.write.Value, Rev: rev, Expires: e.write.Expires}, nil
		case n == updatesMax || !p.db.pause(ctx, scope, pauseBase, n):
			return nil, contentionError("update", key)
		}
		row = current
	}
}

// replacing is the entry that puts value in the place of row, on the condition
// that row is still stored, or if row is nil, that there is still none.
func (p *Partition) replacing(row *Row, key string, value any) (Entry, error) {
	condition := Condition{New: true}
	var expires int64
	if row != nil {
		condition, expires = Condition{Rev: row.Rev}, row.Expires
	}
	e, err := p.ToPut(key, value, PutOptions{If: condition})
	if err != nil {
		return Entry{}, withContext(err, "update", key)
	}
	e.write.Expires = expires
	return e, nil
}
