package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

// cursor is how far a schedule is, for all processes.
type cursor struct {
	// last is the latest due time that is decided: it was begun or dropped. Those
	// after it are still to be decided.
	last time.Time
	// run is the id of the run that was begun last, "" for none.
	run string
	// busy is until when that may run: what is due before waits for it, and isn't
	// missed.
	busy time.Time
	// rev is the revision of the document that the cursor was read from.
	rev string
}

const (
	// partitionName is the reserved partition in which schedules are kept.
	partitionName = "schedules"
	// cursorTTL is how long a cursor outlives its last change.
	cursorTTL = 2 * 366 * 24 * time.Hour
)

// cursorDocument is the document in which the cursor of a schedule is stored.
type cursorDocument struct {
	partition *db.Partition
	key       string
}

// read returns the cursor. If there is none, it stores one that begins at since.
func (d cursorDocument) read(ctx context.Context, since time.Time) (cursor, error) {
	for {
		row, err := d.partition.Get(ctx, db.HostScope(ctx), d.key, false)
		switch {
		case err != nil:
			return cursor{}, err
		case row != nil:
			c := parseCursor(row.Value)
			c.rev = row.Rev
			return c, nil
		}
		first, ok, err := d.write(ctx, cursor{last: since})
		if err != nil || ok {
			return first, err
		}
	}
}

// write stores a cursor in the place of the one whose revision it has, and
// returns it with its new revision. ok is false if another process has written
// since.
func (d cursorDocument) write(ctx context.Context, c cursor) (written cursor, ok bool, err error) {
	rev, current, err := d.partition.Put(ctx, db.HostScope(ctx), d.key, c.value(), db.PutOptions{
		If: db.Condition{Rev: c.rev, New: c.rev == ""}, TTL: cursorTTL,
	})
	if known, unknown := errors.AsType[*outcome.Error](err); unknown && known.Code == db.CodeUnknown && current != nil {
		// Only this write begins its run. If the document has that run, the write
		// was applied, and the document has been changed since.
		now := parseCursor(current.Value)
		now.rev = current.Rev
		return now, now.run != "" && now.run == c.run, nil
	}
	c.rev = rev
	return c, rev != "", err
}

// value is how a cursor is stored. Versions before this one read it too.
func (c cursor) value() value.Map {
	v := value.Map{"last": float64(c.last.UnixMilli()), "run": c.run}
	if !c.busy.IsZero() {
		v["busy"] = float64(c.busy.UnixMilli())
	}
	return v
}

func parseCursor(v any) (c cursor) {
	m, _ := v.(value.Map)
	last, _ := m["last"].(float64)
	c.last = time.UnixMilli(int64(last))
	c.run, _ = m["run"].(string)
	if busy, ok := m["busy"].(float64); ok {
		c.busy = time.UnixMilli(int64(busy))
	}
	return c
}
