package lock

import (
	"context"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// LockInfo is a lock as an operator sees it.
type LockInfo struct {
	Row
	// Age is how long ago the holder's call began, at most. Left is how long it
	// takes at most until the lock is free; 0 or less if the row has run out.
	Age, Left time.Duration
}

// ListAll reads all rows of a tenant's locks, also those that have run out, in
// the byte order of their names. Their ages are measured by tableTime, which
// observes each answer. The error is the first page's that could not be read.
func ListAll(ctx context.Context, table Lister, tableTime TableTime, id tenant.ID) ([]LockInfo, error) {
	var all []LockInfo
	for after, more := "", true; more; more = after != "" {
		page := table.ListLocks(ctx, id, after)
		tableTime.Observe(page.Attempt)
		if page.Outcome != outcome.Applied {
			return nil, page.Err
		}
		now := tableTime.At(page.Received)
		for _, r := range page.Rows {
			all = append(all, LockInfo{Row: r, Age: now.Latest.Sub(r.Start.Time()), Left: r.Until.Time().Sub(now.Earliest)})
		}
		after = page.After
	}
	return all, nil
}
