package db

import (
	"context"
	"time"

	"github.com/tidelock-lua/tidelock/tenant"
)

// reservedAttemptsMax is how many requests a write to a reserved partition
// makes at most. It is more than for scripts, because a host acts on what it
// has written, and because hosts write seldom.
const reservedAttemptsMax = 20

// Reserved returns a partition for what a host keeps about a tenant. It is
// stored as "<tenant>/!<name>": no script can open it, because the names that
// scripts use never begin with "!". The name is the host's own and isn't
// checked.
//
// The verbs are those of any partition, with two differences in what is
// repeated. A single write is attempted up to 20 times, until its outcome is
// known. And repetitions don't count against those that the tenant's scripts
// have.
func (d *DB) Reserved(id tenant.ID, name string) *Partition {
	return &Partition{db: d, tenant: id, name: "!" + name, reserved: true}
}

// HostScope returns the scope of what a host does on its own account, outside
// of any run: it has no budget, its time is that of ctx, and no lock depends on
// what it writes.
func HostScope(ctx context.Context) RunScope { return hostScope{ctx} }

type hostScope struct{ ctx context.Context }

func (hostScope) Spend(int64) error { return nil }

func (s hostScope) Remaining() (time.Duration, bool) {
	deadline, ok := s.ctx.Deadline()
	if !ok {
		return 0, false
	}
	return time.Until(deadline), true
}

func (hostScope) Write() (settled func()) { return func() {} }
