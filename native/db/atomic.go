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

// Failure is an entry whose condition did not hold.
type Failure struct {
	Index   int // into the entries
	Key     string
	Current *Row // what is there, nil if nothing
}

// Atomic makes all of the 1 to 100 writes, which concern different rows and
// have 4 MB together, or none of them. It returns the new revision of each
// entry, "" for those that only delete or check; or, if there were any, the
// entries whose conditions did not hold. Each entry costs one data operation
// per attempt.
//
// All attempts have the same token, so the store applies them once, whatever
// answers are lost on the way.
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
		// Only additions to rows that have expired were refused, and have
		// become puts: another transaction with another token.
		if c.unknown > 0 {
			return nil, nil, c.unknownError(nil)
		}
	}
	return nil, nil, contentionError("atomic", "")
}

// transact sends the writes under one token until they are applied, which
// leaves no refusals, or refused.
func (c *call) transact(writes []Write) ([]Refusal, error) {
	token, now := newRev(), c.db.now()
	var answer TransactResult
	result, err := c.do(func(ctx context.Context) outcome.Attempt {
		answer = c.db.store.Transact(ctx, token, writes, now)
		return answer.Attempt
	})
	if err != nil {
		return nil, err
	}
	if result == outcome.Applied || applied(writes, answer.Refusals) {
		c.resolve()
		return nil, nil
	}
	return answer.Refusals, nil
}

// applied says whether one of the rows in the way has the revision that the
// transaction itself was to give it: an earlier attempt was applied, and its
// token forgotten since.
func applied(writes []Write, refusals []Refusal) bool {
	for _, r := range refusals {
		if own := writes[r.Index].Rev; own != "" && r.Row != nil && r.Row.Rev == own {
			return true
		}
	}
	return false
}

// failures tells conditions that did not hold from additions that met a row
// that has expired. Those are changed into puts in writes, and back if somebody
// else was faster.
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
