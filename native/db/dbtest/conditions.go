package dbtest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

// conditions are tested and acted on in one step.
var conditions = []contract{
	{"a put with new stores once", putNew},
	{"a put with a revision needs exactly that", putRev},
	{"a delete with a revision needs exactly that", deleteRev},
	{"a plain delete is true whether or not there was something", deletePlain},
	{"each write makes a revision of its own", revisionsDiffer},
	{"many keys are read at once, missing ones are just missing", getMany},
	{"an update sees what is there and keeps what it returns", update},
	{"an update that returns nil or fails changes nothing", updateCancelled},
	{"an update gives up after eight lost races", updateLoses},
	{"updates at the same time lose nothing", updatesTogether},
}

func (b *Fixture) wantRefused(rev string, current *db.Row, err error, want *db.Row) {
	b.Helper()
	if err != nil || rev != "" || !reflect.DeepEqual(current, want) {
		b.Errorf("got revision %q, current %v, error %v; want a refusal with %v", rev, current, err, want)
	}
}

func putNew(b *Fixture, _ Engine) {
	rev := b.PutWith("key", 1.0, db.PutOptions{If: db.Condition{New: true}})
	again, current, err := b.Users.Put(b.Context(), b.Scope, "key", 2.0, db.PutOptions{If: db.Condition{New: true}})
	b.wantRefused(again, current, err, &db.Row{Value: 1.0, Rev: rev})
	b.WantValue("key", 1.0)
}

func putRev(b *Fixture, _ Engine) {
	put := func(rev string) (string, *db.Row, error) {
		return b.Users.Put(b.Context(), b.Scope, "key", "new", db.PutOptions{If: db.Condition{Rev: rev}})
	}
	rev, current, err := put("nothing there")
	b.wantRefused(rev, current, err, nil)
	first := b.Put("key", "old")
	second, _, err := put(first)
	if err != nil || second == "" || second == first {
		b.Fatalf("put with the revision = %q, %v; want a new revision", second, err)
	}
	rev, current, err = put(first)
	b.wantRefused(rev, current, err, &db.Row{Value: "new", Rev: second})
}

func deleteRev(b *Fixture, _ Engine) {
	first := b.Put("key", 1.0)
	second := b.Put("key", 2.0)
	for _, test := range []struct {
		rev     string
		ok      bool
		current *db.Row
	}{
		{first, false, &db.Row{Value: 2.0, Rev: second}},
		{second, true, nil},
		{second, false, nil},
	} {
		ok, current, err := b.Users.Delete(b.Context(), b.Scope, "key", db.Condition{Rev: test.rev})
		if ok != test.ok || err != nil || !reflect.DeepEqual(current, test.current) {
			b.Errorf("delete = %v, %v, %v; want %v, %v", ok, current, err, test.ok, test.current)
		}
	}
	b.WantValue("key", nil)
}

func deletePlain(b *Fixture, _ Engine) {
	b.Put("key", 1.0)
	for range 2 {
		ok, current, err := b.Users.Delete(b.Context(), b.Scope, "key", db.Condition{})
		if !ok || current != nil || err != nil {
			b.Errorf("delete = %v, %v, %v; want true", ok, current, err)
		}
		b.WantValue("key", nil)
	}
}

func revisionsDiffer(b *Fixture, _ Engine) {
	seen := map[string]bool{}
	for range 50 {
		rev := b.Put("key", 1.0)
		if seen[rev] || b.Get("key").Rev != rev || len(rev) != 32 {
			b.Fatalf("revision %q was used before, or is not that of the row, or is not 128 bits", rev)
		}
		seen[rev] = true
	}
}

func getMany(b *Fixture, _ Engine) {
	rev := b.Put("a", 1.0)
	b.Put("b", value.Null{})
	got, err := b.Users.GetMany(b.Context(), b.Scope, []string{"a", "missing", "b", "a"}, false)
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got["a"], &db.Row{Value: 1.0, Rev: rev}) || got["b"].Value != (value.Null{}) {
		b.Errorf("got %v, %v; want a and b", got, err)
	}
	if got, want := b.Scope.Spent, int64(2+3); got != want {
		b.Errorf("cost %d operations, want %d: one per write and different key", got, want)
	}
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprint("large", i))
		b.Put(keys[i], strings.Repeat("x", 370<<10))
	}
	if got, err = b.Users.GetMany(b.Context(), b.Scope, keys, false); err != nil || len(got) != len(keys) {
		b.Errorf("of %d rows of 370 KiB, %d were read (%v)", len(keys), len(got), err)
	}
	for i := range 41 {
		keys = append(keys, fmt.Sprint("more", i))
	}
	_, err = b.Users.GetMany(b.Context(), b.Scope, keys, false)
	b.WantCode(err, db.CodeTooLarge)
}

func update(b *Fixture, _ Engine) {
	appendTo := func(row *db.Row) (any, error) {
		if row == nil {
			return value.List{"first"}, nil
		}
		return append(value.List{}, append(row.Value.(value.List), "next")...), nil
	}
	for _, want := range []value.List{{"first"}, {"first", "next"}} {
		row, err := b.Users.Update(b.Context(), b.Scope, "key", appendTo)
		if err != nil || !reflect.DeepEqual(row.Value, want) || !reflect.DeepEqual(row, b.Get("key")) {
			b.Fatalf("update = %v, %v; want %v, as stored", row, err, want)
		}
	}
}

func updateCancelled(b *Fixture, _ Engine) {
	rev := b.Put("key", 1.0)
	row, err := b.Users.Update(b.Context(), b.Scope, "key", func(*db.Row) (any, error) { return nil, nil })
	if row != nil || err != nil {
		b.Errorf("update = %v, %v; want nothing", row, err)
	}
	stop := errors.New("stop")
	if _, err = b.Users.Update(b.Context(), b.Scope, "key", func(*db.Row) (any, error) { return 2.0, stop }); err != stop {
		b.Errorf("update raises %v, want the function's error", err)
	}
	if got := b.Get("key").Rev; got != rev {
		b.Errorf("revision is %q, want the old one %q", got, rev)
	}
}

func updateLoses(b *Fixture, _ Engine) {
	calls := 0
	_, err := b.Users.Update(b.Context(), b.Scope, "key", func(row *db.Row) (any, error) {
		if row != nil && row.Value != float64(calls) {
			b.Errorf("call %d sees %v, want the latest value %d", calls+1, row.Value, calls)
		}
		calls++
		b.Put("key", float64(calls))
		return "mine", nil
	})
	b.WantCode(err, db.CodeContention)
	if calls != 8 {
		b.Errorf("the function was called %d times, want 8", calls)
	}
}

func updatesTogether(b *Fixture, _ Engine) {
	var group sync.WaitGroup
	const workers, times = 4, 10
	for range workers {
		group.Go(func() {
			scope := &RunScope{Left: 1 << 40}
			for done := 0; done < times; {
				_, err := b.Users.Update(b.Context(), scope, "key", func(row *db.Row) (any, error) {
					if row == nil {
						return 1.0, nil
					}
					return row.Value.(float64) + 1, nil
				})
				var e *outcome.Error
				if err == nil {
					done++
				} else if !errors.As(err, &e) || e.Code != db.CodeContention {
					b.Errorf("update: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	b.WantValue("key", float64(workers*times))
}
