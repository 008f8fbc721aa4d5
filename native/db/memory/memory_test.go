package memory_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/vm"
)

func TestMemoryIsAnEngine(t *testing.T) {
	dbtest.Run(t, func(t *testing.T, hands *vm.Hands) dbtest.Engine { return memory.New(hands) })
}
