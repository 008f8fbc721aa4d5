package db

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Limits of one transaction.
const (
	EntriesMax          = 100
	transactionBytesMax = 4_000_000
)

// Failure is an entry of a transaction whose condition did not hold.
type Failure struct {
	Index   int // into the entries
	Key     string
	Current *Row // what is stored, nil if there is no row
}

// Atomic makes all of the writes or none of them. There are 1 to [EntriesMax]
// entries, of different rows, with at most 4 MB together. It returns the new
// revision of each entry, "" for those that delete or check; or, if there are
// any, the entries whose conditions did not hold. Each entry costs one data
// operation per attempt.
//
// All attempts have the same token, so the store applies the writes once,
// whatever responses are lost.
func (d *DB) Atomic(ctx context.Context, scope RunScope, id tenant.ID, entries []Entry) (revs []string, failed []Failure, err error) {
	if err := checkEntries(entries); err != nil {
		return nil, nil, withContext(err, "atomic", "")
	}
	writes := make([]Write, len(entries))
	revs = make([]string, len(entries))
	for i, e := range entries {
		writes[i], revs[i] = e.write, e.write.Rev
	}
	for range attemptsMax {
		c := d.call(ctx, scope, id, "atomic", "")
		c.writes, c.unknownMax, c.price = true, attemptsMax, int64(len(writes))
		refusals, err := c.transact(writes)
		if err != nil {
			return nil, nil, err
		}
		if len(refusals) == 0 {
			return revs, nil, nil
		}
		failed, err := d.failures(entries, writes, refusals)
		if err != nil || len(failed) > 0 {
			return nil, failed, err
		}
		// Only additions to rows that have expired were refused, and puts have taken
		// their place: that is another transaction, with another token.
		if c.unknown > 0 {
			return nil, nil, c.unknownError(nil)
		}
	}
	return nil, nil, contentionError("atomic", "")
}

// transact sends the writes under one token until they are applied or refused. If
// they are applied, there are no refusals.
func (c *call) transact(writes []Write) ([]Refusal, error) {
	token, now := newRev(), c.db.now()
	var result TransactResult
	decided, err := c.do(func(ctx context.Context) outcome.Attempt {
		result = c.db.store.Transact(ctx, token, writes, now)
		return result.Attempt
	})
	if err != nil {
		return nil, err
	}
	if decided == outcome.Applied || applied(writes, result.Refusals) {
		c.resolve()
		return nil, nil
	}
	return result.Refusals, nil
}

// applied reports whether one of the conflicting rows has the revision that the
// transaction itself gives it: then an earlier attempt was applied, and its token
// forgotten since.
func applied(writes []Write, refusals []Refusal) bool {
	for _, r := range refusals {
		if own := writes[r.Index].Rev; own != "" && r.Row != nil && r.Row.Rev == own {
			return true
		}
	}
	return false
}

// failures returns the entries whose conditions did not hold. An addition that a
// row refused because it has expired is none of them: in writes a put takes its
// place, and the addition comes back if another row was written meanwhile.
func (d *DB) failures(entries []Entry, writes []Write, refusals []Refusal) (failed []Failure, err error) {
	for _, r := range refusals {
		e, w := entries[r.Index], &writes[r.Index]
		current := d.alive(r.Row)
		if e.write.Kind == Add {
			if err := notAdded("atomic", e, current); err != nil {
				return nil, err
			}
			if put, ok := e.write.asPut(); ok && current == nil {
				*w = put
				continue
			}
			if w.Kind == Put {
				*w = e.write
				continue
			}
		}
		failed = append(failed, Failure{r.Index, e.key, current})
	}
	return failed, nil
}

func checkEntries(entries []Entry) error {
	if len(entries) == 0 || len(entries) > EntriesMax {
		return refuse(CodeTooLarge, "%d entries, want 1..%d", len(entries), EntriesMax)
	}
	size := 0
	seen := make(map[Key]bool, len(entries))
	for i, e := range entries {
		if seen[e.write.Key] {
			return withContext(refuse(CodeKey, "entry %d: the key was used by an entry before it", i+1), "", e.key)
		}
		seen[e.write.Key] = true
		size += e.size
	}
	if size > transactionBytesMax {
		return refuse(CodeTooLarge, "the entries have %d bytes together, want at most %d", size, transactionBytesMax)
	}
	return nil
}
