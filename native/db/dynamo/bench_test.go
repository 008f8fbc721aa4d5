package dynamo_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

// The emulator takes most of the time; what a request costs without it is in
// BenchmarkClient.
func BenchmarkDynamoDBLocal(b *testing.B) {
	l := &local{endpoint: dynamolocal.Start(b)}
	dual := systemClock()
	s := l.create(b, dual)
	clk := lock.NewTableClock(0, nil)
	locks, err := lock.New(dual, s, clk, lock.Options{})
	if err != nil {
		b.Fatal(err)
	}
	benchOperations(b, db.New(s, dual, clk.Observe))
	b.Run("lock", func(b *testing.B) {
		for b.Loop() {
			hold(b, locks)
		}
	})
}

func BenchmarkClient(b *testing.B) {
	service := newFake(b, success)
	clk := systemClock()
	benchOperations(b, db.New(open(b, clk, service.options()), clk, nil))
}

func benchOperations(b *testing.B, over *db.DB) {
	p, err := over.Open("acme", "bench")
	if err != nil {
		b.Fatal(err)
	}
	scope := &dbtest.RunScope{Left: 1 << 60}
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"put", func() error {
			doc := value.Map{"name": "Ada", "n": 1.0, "tags": value.List{"a", "b"}}
			_, _, err := p.Put(b.Context(), scope, "key", doc, db.PutOptions{})
			return err
		}},
		{"get", func() error {
			_, err := p.Get(b.Context(), scope, "key", false)
			return err
		}},
	} {
		b.Run(op.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := op.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
