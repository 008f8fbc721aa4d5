package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

func TestWriteExcludesOtherWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := clock.NewDual(clock.System())
	var stores [2]*Store
	for i := range stores {
		store, err := Open(path, clk, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		stores[i] = store
	}
	key := db.Key{Partition: "acme/users", Key: "key"}
	got := stores[0].write(t.Context(), func(c *change) (outcome.Outcome, error) {
		if _, err := c.get(key); err != nil {
			return outcome.NotApplied, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		other := stores[1].Write(ctx, db.Write{Kind: db.Put, Key: key, Value: "other", Rev: "other"}, 0)
		if other.Outcome != outcome.NotApplied {
			t.Errorf("another writer's answer is %v, want not applied", other.Outcome)
		}
		return outcome.Applied, c.set(key, &db.Row{Value: "mine", Rev: "mine"})
	})
	if got.Outcome != outcome.Applied {
		t.Errorf("the transaction ended with %v (%v), want applied", got.Outcome, got.Err)
	}
}
