package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

// A Go program that holds a lock has to stop by itself when the lease ends. For
// scripts native.lock does that.
func Example() {
	clk := clock.NewDual(clock.System())
	table := locktest.NewService(nil).Connect(clk)
	locks, err := lock.New(clk, table, lock.NewTableClock(0, nil), lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	request := lock.Request{
		Key:   lock.Key{Tenant: "acme", Name: "import-42"},
		Lease: 30 * time.Second,
	}
	lease, err := locks.Acquire(ctx, request)
	switch {
	case errors.Is(err, lock.ErrHeld):
		fmt.Println("held by another process")
	case err != nil:
		fmt.Println("error:", err)
	default:
		fmt.Println("mine for", (lease.End - clk.ElapsedMax()).Round(time.Second))
		lease.Release(ctx)
	}
	// Output: mine for 30s
}

func BenchmarkLock(b *testing.B) {
	for _, scope := range []lock.Scope{lock.DB, lock.Local} {
		b.Run(scope.String(), func(b *testing.B) {
			clk := clock.NewDual(clock.System())
			table := locktest.NewService(nil).Connect(clk)
			locks, err := lock.New(clk, table, lock.MachineClock{}, lock.Options{})
			if err != nil {
				b.Fatal(err)
			}
			r := request(func(r *lock.Request) { r.Scope = scope })
			for b.Loop() {
				l, err := locks.Acquire(b.Context(), r)
				if err != nil {
					b.Fatal(err)
				}
				l.Release(b.Context())
			}
		})
	}
}
