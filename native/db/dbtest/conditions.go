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

// conditions are tested, and the write made, in one step.
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

func (f *Fixture) wantRefused(rev string, current *db.Row, err error, want *db.Row) {
	f.Helper()
	if err != nil || rev != "" || !reflect.DeepEqual(current, want) {
		f.Errorf("got revision %q, current %v, error %v; want a refusal with %v", rev, current, err, want)
	}
}

func putNew(f *Fixture, _ Engine) {
	rev := f.PutWith("key", 1.0, db.PutOptions{If: db.Condition{New: true}})
	again, current, err := f.Users.Put(f.Context(), f.Scope, "key", 2.0, db.PutOptions{If: db.Condition{New: true}})
	f.wantRefused(again, current, err, &db.Row{Value: 1.0, Rev: rev})
	f.WantValue("key", 1.0)
}

func putRev(f *Fixture, _ Engine) {
	put := func(rev string) (string, *db.Row, error) {
		return f.Users.Put(f.Context(), f.Scope, "key", "new", db.PutOptions{If: db.Condition{Rev: rev}})
	}
	rev, current, err := put("nothing there")
	f.wantRefused(rev, current, err, nil)
	first := f.Put("key", "old")
	second, _, err := put(first)
	if err != nil || second == "" || second == first {
		f.Fatalf("put with the revision = %q, %v; want a new revision", second, err)
	}
	rev, current, err = put(first)
	f.wantRefused(rev, current, err, &db.Row{Value: "new", Rev: second})
}

func deleteRev(f *Fixture, _ Engine) {
	first := f.Put("key", 1.0)
	second := f.Put("key", 2.0)
	for _, test := range []struct {
		rev     string
		ok      bool
		current *db.Row
	}{
		{first, false, &db.Row{Value: 2.0, Rev: second}},
		{second, true, nil},
		{second, false, nil},
	} {
		ok, current, err := f.Users.Delete(f.Context(), f.Scope, "key", db.Condition{Rev: test.rev})
		if ok != test.ok || err != nil || !reflect.DeepEqual(current, test.current) {
			f.Errorf("delete = %v, %v, %v; want %v, %v", ok, current, err, test.ok, test.current)
		}
	}
	f.WantValue("key", nil)
}

func deletePlain(f *Fixture, _ Engine) {
	f.Put("key", 1.0)
	for range 2 {
		ok, current, err := f.Users.Delete(f.Context(), f.Scope, "key", db.Condition{})
		if !ok || current != nil || err != nil {
			f.Errorf("delete = %v, %v, %v; want true", ok, current, err)
		}
		f.WantValue("key", nil)
	}
}

func revisionsDiffer(f *Fixture, _ Engine) {
	seen := map[string]bool{}
	for range 50 {
		rev := f.Put("key", 1.0)
		if seen[rev] || f.Get("key").Rev != rev || len(rev) != 32 {
			f.Fatalf("revision %q was used before, or is not that of the row, or is not 128 bits", rev)
		}
		seen[rev] = true
	}
}

func getMany(f *Fixture, _ Engine) {
	rev := f.Put("a", 1.0)
	f.Put("b", value.Null{})
	got, err := f.Users.GetMany(f.Context(), f.Scope, []string{"a", "missing", "b", "a"}, false)
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got["a"], &db.Row{Value: 1.0, Rev: rev}) || got["b"].Value != (value.Null{}) {
		f.Errorf("got %v, %v; want a and b", got, err)
	}
	if got, want := f.Scope.Spent, int64(2+3); got != want {
		f.Errorf("cost %d operations, want %d: one per write and different key", got, want)
	}
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprint("large", i))
		f.Put(keys[i], strings.Repeat("x", 370<<10))
	}
	if got, err = f.Users.GetMany(f.Context(), f.Scope, keys, false); err != nil || len(got) != len(keys) {
		f.Errorf("of %d rows of 370 KiB, %d were read (%v)", len(keys), len(got), err)
	}
	for i := range 41 {
		keys = append(keys, fmt.Sprint("more", i))
	}
	_, err = f.Users.GetMany(f.Context(), f.Scope, keys, false)
	f.WantCode(err, db.CodeTooLarge)
}

func update(f *Fixture, _ Engine) {
	appendTo := func(row *db.Row) (any, error) {
		if row == nil {
			return value.List{"first"}, nil
		}
		return append(value.List{}, append(row.Value.(value.List), "next")...), nil
	}
	for _, want := range []value.List{{"first"}, {"first", "next"}} {
		row, err := f.Users.Update(f.Context(), f.Scope, "key", appendTo)
		if err != nil || !reflect.DeepEqual(row.Value, want) || !reflect.DeepEqual(row, f.Get("key")) {
			f.Fatalf("update = %v, %v; want %v, as stored", row, err, want)
		}
	}
}

func updateCancelled(f *Fixture, _ Engine) {
	rev := f.Put("key", 1.0)
	row, err := f.Users.Update(f.Context(), f.Scope, "key", func(*db.Row) (any, error) { return nil, nil })
	if row != nil || err != nil {
		f.Errorf("update = %v, %v; want nothing", row, err)
	}
	stop := errors.New("stop")
	if _, err = f.Users.Update(f.Context(), f.Scope, "key", func(*db.Row) (any, error) { return 2.0, stop }); err != stop {
		f.Errorf("update raises %v, want the function's error", err)
	}
	if got := f.Get("key").Rev; got != rev {
		f.Errorf("revision is %q, want the old one %q", got, rev)
	}
}

func updateLoses(f *Fixture, _ Engine) {
	calls := 0
	_, err := f.Users.Update(f.Context(), f.Scope, "key", func(row *db.Row) (any, error) {
		if row != nil && row.Value != float64(calls) {
			f.Errorf("call %d sees %v, want the latest value %d", calls+1, row.Value, calls)
		}
		calls++
		f.Put("key", float64(calls))
		return "mine", nil
	})
	f.WantCode(err, db.CodeContention)
	if calls != 8 {
		f.Errorf("the function was called %d times, want 8", calls)
	}
}

func updatesTogether(f *Fixture, _ Engine) {
	var group sync.WaitGroup
	const workers, times = 4, 10
	for range workers {
		group.Go(func() {
			scope := &RunScope{Left: 1 << 40}
			for done := 0; done < times; {
				_, err := f.Users.Update(f.Context(), scope, "key", func(row *db.Row) (any, error) {
					if row == nil {
						return 1.0, nil
					}
					return row.Value.(float64) + 1, nil
				})
				var e *outcome.Error
				if err == nil {
					done++
				} else if !errors.As(err, &e) || e.Code != db.CodeContention {
					f.Errorf("update: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	f.WantValue("key", float64(workers*times))
}
