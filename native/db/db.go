package db

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// ttlMax is the longest life of a row that has one.
const ttlMax = 10 * 365 * 24 * time.Hour

// DB is native.db over one store, for all runs of a process. It is safe for
// use by many goroutines.
type DB struct {
	store   Store
	clock   *clock.Dual
	observe func(outcome.Attempt)
	quotas  quotas
}

// New returns native.db over store. Pauses and expiry go by hands. Every
// attempt is shown to observe, if that is not nil: answers tell the table's
// time.
func New(store Store, clk *clock.Dual, observe func(outcome.Attempt)) *DB {
	if observe == nil {
		observe = func(outcome.Attempt) {}
	}
	return &DB{store: store, clock: clk, observe: observe}
}

// Partition is a named part of a tenant's data.
type Partition struct {
	db     *DB
	tenant tenant.ID
	name   string
	// reserved marks a partition of the host's own.
	reserved bool
}

// Open returns the tenant's partition of that name, without a request. Names
// have 1 to 64 letters, digits, "_", "." and "-", the first of them a letter
// or digit ([CodeKey]).
func (d *DB) Open(id tenant.ID, name string) (*Partition, error) {
	if err := checkPartition(name); err != nil {
		return nil, about(err, "open", name)
	}
	return &Partition{db: d, tenant: id, name: name}, nil
}

// Name is the name that the partition was opened by.
func (p *Partition) Name() string { return p.name }

func (p *Partition) row(key string) Key {
	return Key{Partition: p.tenant.Partition(p.name), Key: key}
}

// call prepares the attempts of a verb at one answer.
func (d *DB) call(ctx context.Context, account RunScope, id tenant.ID, op, key string) *call {
	return &call{db: d, ctx: ctx, account: account, quota: d.quotas.of(id), op: op, key: key, price: 1, attemptsMax: attemptsMax}
}

// call is [DB.call] for a verb of the partition.
func (p *Partition) call(ctx context.Context, account RunScope, op, key string) *call {
	c := p.db.call(ctx, account, p.tenant, op, key)
	if p.reserved {
		c.quota = nil
	}
	return c
}

// now is the time that expiry goes by, in whole seconds since 1970.
func (d *DB) now() int64 { return d.clock.Read().Wall.Unix() }

// expiry is when a row that is written now with ttl expires: never if ttl is
// 0, otherwise rounded up to a whole second.
func (d *DB) expiry(ttl time.Duration) (int64, error) {
	if ttl == 0 {
		return 0, nil
	}
	if ttl < 0 || ttl > ttlMax {
		return 0, refuse(CodeOption, "ttl: got %v seconds, want more than 0 and at most %d", ttl.Seconds(), int64(ttlMax.Seconds()))
	}
	return d.clock.Read().Wall.Add(ttl + time.Second - time.Nanosecond).Unix(), nil
}

// newRev makes a revision, or a transaction's token: 128 random bits. It reads
// the system's source each time, because the memory of a process may be cloned.
func newRev() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: the process ends if there is no source
	return hex.EncodeToString(b[:])
}
