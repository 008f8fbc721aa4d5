package sim

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/lock"
)

// mutant says what is broken on purpose. The zero mutant is the real thing.
type mutant struct {
	// acquire replaces the lock.
	acquire func(*process, context.Context, lock.Request) (*heldLock, error)
	// table and time stand between the protocol and the world.
	table func(*process, lock.Table) lock.Table
	time  func(lock.TableTime) lock.TableTime
	// releasesEarly lets holders release before their last write.
	releasesEarly bool
	// releasesInDoubt lets holders release although a write of theirs is out.
	releasesInDoubt bool
}
