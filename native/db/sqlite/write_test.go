package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/vm"
)

func TestNobodyWritesBetweenTheReadAndTheWriteOfATransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	hands := vm.NewHands(vm.SystemClock())
	var stores [2]*Store
	for i := range stores {
		store, err := Open(path, hands, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		stores[i] = store
	}
	key := db.Key{Partition: "acme/users", Key: "key"}
	got := stores[0].write(t.Context(), func(c *change) (native.Outcome, error) {
		if _, err := c.get(key); err != nil {
			return native.NotApplied, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		other := stores[1].Write(ctx, db.Write{Verb: db.Put, Key: key, Value: "other", Rev: "other"}, 0)
		if other.Outcome != native.NotApplied {
			t.Errorf("another writer's answer is %v, want not applied", other.Outcome)
		}
		return native.Applied, c.set(key, &db.Row{Value: "mine", Rev: "mine"})
	})
	if got.Outcome != native.Applied {
		t.Errorf("the transaction ended with %v (%v), want applied", got.Outcome, got.Err)
	}
}
