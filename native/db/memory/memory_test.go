package memory_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"

	"github.com/tidelock-lua/tidelock/native/clock"
)

func TestMemoryIsAnEngine(t *testing.T) {
	dbtest.Run(t, func(t *testing.T, hands *clock.Dual) dbtest.Engine { return memory.New(hands) })
}
