package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
)

func open(t *testing.T, path string, clk *clock.Dual, o sqlite.Options) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(path, clk, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func TestSQLiteIsAnEngine(t *testing.T) {
	dbtest.Run(t, func(t *testing.T, clk *clock.Dual) dbtest.Engine {
		return open(t, filepath.Join(t.TempDir(), "test.db"), clk, sqlite.Options{Relaxed: true})
	})
}
