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
	{"a lock is had once, and again when its time has run out", lockPut},
	{"a lock is freed by its owner only", lockDelete},
	{"locks are listed in pages, and by tenant", lockList},
	{"no partition of a script reaches the locks", lockUnreachable},
}

func (b *Fixture) unixMilli() lock.UnixMilli { return lock.UnixMilli(b.Clock.Now().Wall.UnixMilli()) }

func (b *Fixture) lockRow(name, owner string, lease time.Duration) lock.Row {
	now := b.unixMilli()
	return lock.Row{
		Key:   lock.Key{Tenant: "acme", Name: name},
		Owner: owner, Start: now, Until: now + lock.UnixMilli(lease.Milliseconds()),
		By: lock.Holder{HostKind: "cli", HostName: "host", Process: "1", Run: "run", Script: "é.lua"},
	}
}

func lockPut(b *Fixture, engine Engine) {
	first := b.lockRow("job", "first", time.Minute)
	second := b.lockRow("job", "second", time.Minute)
	put := func(row lock.Row, now lock.UnixMilli) lock.RowResult { return engine.PutLock(b.Context(), row, now) }
	if got := put(first, b.unixMilli()); got.Outcome != outcome.Applied || got.Old != nil {
		b.Fatalf("the first put is answered %+v, want applied", got)
	}
	got := put(second, first.Until-1)
	if got.Outcome != outcome.Refused || !reflect.DeepEqual(got.Old, &first) {
		b.Errorf("one millisecond before the end: %+v, want refused with %+v", got, first)
	}
	if got.Sent.Wall.IsZero() || got.Received.ElapsedMax < got.Sent.ElapsedMax || got.Date.Nanosecond() != 0 {
		b.Errorf("sent %v, received %v, date %v; want readings, and no date or one in whole seconds", got.Sent, got.Received, got.Date)
	}
	if got := put(second, first.Until); got.Outcome != outcome.Applied {
		b.Errorf("at the end: %+v, want applied", got)
	}
	if got := put(first, b.unixMilli()); got.Outcome != outcome.Refused || got.Old.Owner != "second" {
		b.Errorf("after it was taken over: %+v, want refused with the second owner", got)
	}
}

func lockDelete(b *Fixture, engine Engine) {
	row := b.lockRow("job", "owner", time.Minute)
	if got := engine.DeleteLock(b.Context(), row.Key, "owner"); got.Outcome != outcome.Refused || got.Old != nil {
		b.Errorf("deleting nothing: %+v, want refused with nothing", got)
	}
	engine.PutLock(b.Context(), row, b.unixMilli())
	if got := engine.DeleteLock(b.Context(), row.Key, "other"); got.Outcome != outcome.Refused || !reflect.DeepEqual(got.Old, &row) {
		b.Errorf("deleting another one's lock: %+v, want refused with it", got)
	}
	if got := engine.DeleteLock(b.Context(), row.Key, "owner"); got.Outcome != outcome.Applied {
		b.Errorf("deleting one's own lock: %+v, want applied", got)
	}
	if got := engine.PutLock(b.Context(), row, b.unixMilli()); got.Outcome != outcome.Applied {
		b.Errorf("putting it again: %+v, want applied", got)
	}
}

func lockList(b *Fixture, engine Engine) {
	const rows = 130
	for i := range rows {
		engine.PutLock(b.Context(), b.lockRow(fmt.Sprintf("job %03d", i), "owner", -time.Minute), b.unixMilli())
	}
	other := b.lockRow("job", "owner", time.Minute)
	other.Tenant = "acme-2"
	engine.PutLock(b.Context(), other, b.unixMilli())
	var got []lock.Row
	after := ""
	for first := true; first || after != ""; first = false {
		page := engine.ListLocks(b.Context(), "acme", after)
		if page.Outcome != outcome.Applied {
			b.Fatalf("list: %+v", page.Attempt)
		}
		got = append(got, page.Rows...)
		after = page.After
	}
	for i, row := range got {
		if want := fmt.Sprintf("job %03d", i); row.Name != want || row.Tenant != "acme" || row.By.Script != "é.lua" {
			b.Fatalf("row %d is %+v, want %s", i, row, want)
		}
	}
	if len(got) != rows {
		b.Errorf("%d locks are listed, want %d", len(got), rows)
	}
}

func lockUnreachable(b *Fixture, engine Engine) {
	b.Put("job", 1.0)
	engine.PutLock(b.Context(), b.lockRow("job", "owner", time.Minute), b.unixMilli())
	b.WantValue("job", 1.0)
	_, err := b.DB.Open("acme", "!locks")
	b.WantCode(err, db.CodeKey)
}
