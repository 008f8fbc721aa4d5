package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/value"
)

func BenchmarkOperations(b *testing.B) {
	for _, o := range []struct {
		name string
		sqlite.Options
	}{{"full", sqlite.Options{}}, {"relaxed", sqlite.Options{Relaxed: true}}} {
		clk := clock.NewDual(clock.System())
		store, err := sqlite.Open(filepath.Join(b.TempDir(), "bench.db"), clk, o.Options)
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close()
		p, err := db.New(store, clk, nil).Open("acme", "bench")
		if err != nil {
			b.Fatal(err)
		}
		scope := &dbtest.RunScope{Left: 1 << 60}
		doc := func() any { return value.Map{"name": "Ada", "n": 1.0, "tags": value.List{"a", "b"}} }
		for _, op := range []struct {
			name string
			do   func() error
		}{
			{"put", func() error {
				_, _, err := p.Put(b.Context(), scope, "key", doc(), db.PutOptions{})
				return err
			}},
			{"get", func() error {
				_, err := p.Get(b.Context(), scope, "key", false)
				return err
			}},
			{"update", func() error {
				_, err := p.Update(b.Context(), scope, "key", func(*db.Row) (any, error) { return doc(), nil })
				return err
			}},
		} {
			b.Run(op.name+"/"+o.name, func(b *testing.B) {
				for b.Loop() {
					if err := op.do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
