package memory_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"
)

func TestMemoryIsAnEngine(t *testing.T) {
	dbtest.Run(t, func(t *testing.T, clk *clock.Dual) dbtest.Engine { return memory.New(clk) })
}
