package locktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Contract checks that a store keeps what [lock.Table] promises. create returns
// an empty one; if it is a [lock.Lister] as well, so is that checked.
func Contract(t *testing.T, create func(t *testing.T) lock.Table) {
	for name, check := range map[string]func(*testing.T, lock.Table){
		"a free lock is taken once":                         takenOnce,
		"a row that has run out is taken":                   runOut,
		"a row is read back as it was stored":               readBack,
		"only its owner deletes a row":                      ownerDeletes,
		"of many puts at once one is applied":               oneApplied,
		"names are compared byte by byte":                   namesDiffer,
		"a request that is cancelled before is not applied": cancelledBefore,
		"every answer has the readings of its clock":        readings,
		"a list has all rows of one tenant in order":        listed,
	} {
		t.Run(name, func(t *testing.T) { check(t, create(t)) })
	}
}

func key(name string) lock.Key { return lock.Key{Tenant: "acme", Name: name} }

// rowOf makes a row that runs out at until, in the contract's own time.
func rowOf(name, owner string, until lock.UnixMilli) lock.Row {
	return lock.Row{Key: key(name), Owner: owner, Start: base + until - 1000, Until: base + until}
}

// base is when the contract's own time begins: late enough that no store's
// expiry removes a row during the test.
const base lock.UnixMilli = 4_000_000_000_000

func put(t *testing.T, table lock.Table, row lock.Row, now lock.UnixMilli, want outcome.Outcome, old *lock.Row) {
	t.Helper()
	expect(t, table.PutLock(t.Context(), row, base+now), want, old)
}

func remove(t *testing.T, table lock.Table, name, owner string, want outcome.Outcome, old *lock.Row) {
	t.Helper()
	expect(t, table.DeleteLock(t.Context(), key(name), owner), want, old)
}

func expect(t *testing.T, got lock.RowResult, want outcome.Outcome, old *lock.Row) {
	t.Helper()
	if got.Outcome != want || got.Err != nil {
		t.Fatalf("got outcome %d and error %v, want outcome %d", got.Outcome, got.Err, want)
	}
	switch {
	case (got.Old == nil) != (old == nil):
		t.Errorf("got old row %+v, want %+v", got.Old, old)
	case old != nil && *got.Old != *old:
		t.Errorf("got old row %+v, want %+v", *got.Old, *old)
	}
}

func takenOnce(t *testing.T, table lock.Table) {
	row := rowOf("a", "me", 10_000)
	put(t, table, row, 5000, outcome.Applied, nil)
	put(t, table, rowOf("a", "you", 20_000), 9999, outcome.Refused, &row)
	put(t, table, row, 5000, outcome.Refused, &row) // its own owner as well
}

func runOut(t *testing.T, table lock.Table) {
	put(t, table, rowOf("a", "me", 10_000), 5000, outcome.Applied, nil)
	row := rowOf("a", "you", 20_000)
	put(t, table, row, 10_000, outcome.Applied, nil)
	put(t, table, rowOf("a", "me", 30_000), 19_999, outcome.Refused, &row)
	remove(t, table, "a", "me", outcome.Refused, &row)
}

func readBack(t *testing.T, table lock.Table) {
	for i, by := range []lock.Holder{
		{},
		{HostKind: "task", HostName: "ip-10-0-3-7", Process: "17", Run: "r1", Script: "scripts/näme.lua"},
	} {
		row := rowOf(fmt.Sprint(i), strings.Repeat("f", 32), 33_267)
		row.By = by
		put(t, table, row, 5000, outcome.Applied, nil)
		put(t, table, row, 5000, outcome.Refused, &row)
	}
}

func ownerDeletes(t *testing.T, table lock.Table) {
	remove(t, table, "a", "me", outcome.Refused, nil)
	row := rowOf("a", "me", 10_000)
	put(t, table, row, 5000, outcome.Applied, nil)
	remove(t, table, "a", "you", outcome.Refused, &row)
	remove(t, table, "a", "me", outcome.Applied, nil)
	remove(t, table, "a", "me", outcome.Refused, nil)
}

func oneApplied(t *testing.T, table lock.Table) {
	for round := range 5 {
		var applied atomic.Int32
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				row := rowOf(fmt.Sprint(round), fmt.Sprint(i), 10_000)
				if table.PutLock(context.Background(), row, base+5000).Outcome == outcome.Applied {
					applied.Add(1)
				}
			})
		}
		wg.Wait()
		if n := applied.Load(); n != 1 {
			t.Errorf("got %d puts applied, want 1", n)
		}
	}
}

func namesDiffer(t *testing.T, table lock.Table) {
	names := []string{
		"a", "A", "a ", " a", "á", "a\u0301", "a\x00", "a\n", "%", "a/b", "!locks",
		strings.Repeat("n", 512), strings.Repeat("n", 511), strings.Repeat("ü", 256),
	}
	for _, name := range names {
		put(t, table, rowOf(name, "me", 10_000), 5000, outcome.Applied, nil)
	}
	other := rowOf("a", "me", 10_000)
	other.Key.Tenant = "other"
	put(t, table, other, 5000, outcome.Applied, nil)
	for _, name := range names {
		remove(t, table, name, "me", outcome.Applied, nil)
	}
	put(t, table, other, 5000, outcome.Refused, &other)
}

func cancelledBefore(t *testing.T, table lock.Table) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, a := range []lock.RowResult{
		table.PutLock(ctx, rowOf("a", "me", 10_000), base+5000),
		table.DeleteLock(ctx, key("a"), "me"),
	} {
		if a.Outcome != outcome.NotApplied && a.Outcome != outcome.Unknown || a.Err == nil {
			t.Errorf("got outcome %d and error %v, want not applied or unknown, with an error", a.Outcome, a.Err)
		}
	}
}

func readings(t *testing.T, table lock.Table) {
	for _, a := range []lock.RowResult{
		table.PutLock(t.Context(), rowOf("a", "me", 10_000), base+5000),
		table.PutLock(t.Context(), rowOf("a", "you", 10_000), base+5000),
		table.DeleteLock(t.Context(), key("a"), "me"),
	} {
		if a.Sent.Wall.IsZero() || a.Received.Wall.IsZero() || a.Sent.ElapsedMax > a.Received.ElapsedMax {
			t.Errorf("got sent %+v and received %+v, want two readings in order", a.Sent, a.Received)
		}
	}
}

func listed(t *testing.T, table lock.Table) {
	lister, ok := table.(lock.Lister)
	if !ok {
		t.Skip("no lister")
	}
	var want []string
	for i := range 250 {
		want = append(want, fmt.Sprintf("n%d", i))
	}
	want = append(want, "ü", "~", "A")
	for i, name := range want {
		put(t, table, rowOf(name, "me", lock.UnixMilli(10_000+i)), 5000, outcome.Applied, nil)
	}
	other := rowOf("b", "me", 10_000)
	other.Key.Tenant = "acme-2"
	put(t, table, other, 5000, outcome.Applied, nil)
	slices.Sort(want)

	if got := list(t, lister, "acme", ""); !slices.Equal(got, want) {
		t.Errorf("got %d names, want %d, or in another order", len(got), len(want))
	}
	if got := list(t, lister, "acme", want[99]); !slices.Equal(got, want[100:]) {
		t.Errorf("after %q: got %d names, want %d, or in another order", want[99], len(got), len(want)-100)
	}
}

// list reads all pages.
func list(t *testing.T, lister lock.Lister, id tenant.ID, after string) (names []string) {
	t.Helper()
	for {
		p := lister.ListLocks(t.Context(), id, after)
		if p.Outcome != outcome.Applied {
			t.Fatalf("got outcome %d and error %v", p.Outcome, p.Err)
		}
		for _, row := range p.Rows {
			names = append(names, row.Key.Name)
		}
		if after = p.After; after == "" {
			return names
		}
	}
}
