package locktest_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestServiceKeepsTheContract(t *testing.T) {
	locktest.Contract(t, func(*testing.T) lock.Table {
		return locktest.NewService(nil).Connect(clock.NewDual(clock.System()))
	})
}
