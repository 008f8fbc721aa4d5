package dynamo_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

// local is an emulator that has a table for each store that is opened.
type local struct {
	endpoint string
	tables   atomic.Int32
}

func (l *local) options() dynamo.Options {
	return dynamo.Options{
		Table: fmt.Sprint("table-", l.tables.Add(1)), Region: "eu-west-1", Endpoint: l.endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}

// open opens a store whose table does not exist.
func (l *local) open(t testing.TB, clk *clock.Dual) *dynamo.Store {
	t.Helper()
	return open(t, clk, l.options())
}

func open(t testing.TB, clk *clock.Dual, o dynamo.Options) *dynamo.Store {
	t.Helper()
	store, err := dynamo.Open(t.Context(), clk, o)
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

// create opens a store with an empty table.
func (l *local) create(t testing.TB, clk *clock.Dual) *dynamo.Store {
	t.Helper()
	store := l.open(t, clk)
	if created, err := store.CreateTable(t.Context()); err != nil || !created {
		t.Fatalf("create = %v, %v; want a new table", created, err)
	}
	return store
}

func systemClock() *clock.Dual { return clock.NewDual(clock.System()) }

// One emulator serves all tests that need one: it takes seconds to start.
func TestDynamoDBLocal(t *testing.T) {
	l := &local{endpoint: dynamolocal.Start(t)}
	t.Run("DynamoDB is an engine", func(t *testing.T) {
		dbtest.Run(t, func(t *testing.T, clk *clock.Dual) dbtest.Engine { return untimed{l.create(t, clk)} })
	})
	t.Run("DynamoDB keeps locks", func(t *testing.T) {
		locktest.Contract(t, func(t *testing.T) lock.Table { return l.create(t, systemClock()) })
	})
	t.Run("DynamoDB answers as memory does", func(t *testing.T) {
		// So far ahead that the emulator, which uses the real time, removes no row
		// that has expired here while the test still reads it.
		clk := dbtest.NewStoppedClock(time.Now().Add(time.Hour))
		dual := clock.NewDual(clk)
		dbtest.Compare(t, clk, untimed{l.create(t, dual)}, memory.New(dual))
	})
	t.Run("tables", func(t *testing.T) { testTables(t, l) })
}
