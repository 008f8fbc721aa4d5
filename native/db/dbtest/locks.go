package dbtest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// locks are rows that engines keep for package lock.
var locks = []contract{
	{"a lock is granted once, and again when its lease has ended", lockPut},
	{"a lock is released by its owner only", lockDelete},
	{"locks are listed in pages, and by tenant", lockList},
	{"no partition of a script reaches the locks", lockUnreachable},
}

func (f *Fixture) unixMilli() lock.UnixMilli { return lock.UnixMilli(f.Clock.Now().Wall.UnixMilli()) }

func (f *Fixture) lockRow(name, owner string, lease time.Duration) lock.Row {
	now := f.unixMilli()
	return lock.Row{
		Key:   lock.Key{Tenant: "acme", Name: name},
		Owner: owner, Start: now, Until: now + lock.UnixMilli(lease.Milliseconds()),
		By: lock.Holder{HostKind: "cli", HostName: "host", Process: "1", Run: "run", Script: "é.lua"},
	}
}

func lockPut(f *Fixture, engine Engine) {
	first := f.lockRow("job", "first", time.Minute)
	second := f.lockRow("job", "second", time.Minute)
	put := func(row lock.Row, now lock.UnixMilli) lock.RowResult { return engine.PutLock(f.Context(), row, now) }
	if got := put(first, f.unixMilli()); got.Outcome != outcome.Applied || got.Old != nil {
		f.Fatalf("the first put is answered %+v, want applied", got)
	}
	got := put(second, first.Until-1)
	if got.Outcome != outcome.Refused || !reflect.DeepEqual(got.Old, &first) {
		f.Errorf("one millisecond before the end: %+v, want refused with %+v", got, first)
	}
	if got.Sent.Wall.IsZero() || got.Received.ElapsedMax < got.Sent.ElapsedMax || got.Date.Nanosecond() != 0 {
		f.Errorf("sent %v, received %v, date %v; want readings, and no date or one in whole seconds", got.Sent, got.Received, got.Date)
	}
	if got := put(second, first.Until); got.Outcome != outcome.Applied {
		f.Errorf("at the end: %+v, want applied", got)
	}
	if got := put(first, f.unixMilli()); got.Outcome != outcome.Refused || got.Old.Owner != "second" {
		f.Errorf("after it was taken over: %+v, want refused with the second owner", got)
	}
}

func lockDelete(f *Fixture, engine Engine) {
	row := f.lockRow("job", "owner", time.Minute)
	if got := engine.DeleteLock(f.Context(), row.Key, "owner"); got.Outcome != outcome.Refused || got.Old != nil {
		f.Errorf("deleting nothing: %+v, want refused with nothing", got)
	}
	engine.PutLock(f.Context(), row, f.unixMilli())
	if got := engine.DeleteLock(f.Context(), row.Key, "other"); got.Outcome != outcome.Refused || !reflect.DeepEqual(got.Old, &row) {
		f.Errorf("deleting another one's lock: %+v, want refused with it", got)
	}
	if got := engine.DeleteLock(f.Context(), row.Key, "owner"); got.Outcome != outcome.Applied {
		f.Errorf("deleting one's own lock: %+v, want applied", got)
	}
	if got := engine.PutLock(f.Context(), row, f.unixMilli()); got.Outcome != outcome.Applied {
		f.Errorf("putting it again: %+v, want applied", got)
	}
}

func lockList(f *Fixture, engine Engine) {
	const rows = 130
	for i := range rows {
		engine.PutLock(f.Context(), f.lockRow(fmt.Sprintf("job %03d", i), "owner", -time.Minute), f.unixMilli())
	}
	other := f.lockRow("job", "owner", time.Minute)
	other.Tenant = "acme-2"
	engine.PutLock(f.Context(), other, f.unixMilli())
	var got []lock.Row
	after := ""
	for first := true; first || after != ""; first = false {
		page := engine.ListLocks(f.Context(), "acme", after)
		if page.Outcome != outcome.Applied {
			f.Fatalf("list: %+v", page.Attempt)
		}
		got = append(got, page.Rows...)
		after = page.After
	}
	for i, row := range got {
		if want := fmt.Sprintf("job %03d", i); row.Name != want || row.Tenant != "acme" || row.By.Script != "é.lua" {
			f.Fatalf("row %d is %+v, want %s", i, row, want)
		}
	}
	if len(got) != rows {
		f.Errorf("%d locks are listed, want %d", len(got), rows)
	}
}

func lockUnreachable(f *Fixture, engine Engine) {
	f.Put("job", 1.0)
	engine.PutLock(f.Context(), f.lockRow("job", "owner", time.Minute), f.unixMilli())
	f.WantValue("job", 1.0)
	_, err := f.DB.Open("acme", "!locks")
	f.WantCode(err, db.CodeKey)
}
