package sim

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/lock"
)

// mutant is what is broken on purpose. The zero mutant breaks nothing.
type mutant struct {
	// acquire replaces the lock.
	acquire func(*process, context.Context, lock.Request) (*heldLock, error)
	// table and time replace what the protocol uses, and wrap it.
	table func(*process, lock.Table) lock.Table
	time  func(lock.TableTime) lock.TableTime
	// releasesEarly lets holders release before their last write.
	releasesEarly bool
	// releasesInDoubt lets holders release although a write is in doubt.
	releasesInDoubt bool
}
