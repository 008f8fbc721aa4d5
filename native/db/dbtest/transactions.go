package dbtest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/tenant"
)

// transactions make all of their changes or none.
var transactions = []contract{
	{"a transaction makes all of its changes", atomicApplies},
	{"a condition that fails stops all of it, and is named with what is there", atomicFails},
	{"an addition inside has the same rules as outside", atomicAdds},
	{"a transaction sent twice under one token is applied once", atomicToken},
	{"a transaction spans the partitions of a tenant", atomicPartitions},
	{"transactions over a limit are refused", atomicRefused},
}

func (b *Fixture) toPut(key string, v any, o db.PutOptions) db.Entry {
	b.Helper()
	return b.mustEntry(b.Users.ToPut(key, v, o))
}

func (b *Fixture) toAdd(key string, delta float64, o db.AddOptions) db.Entry {
	b.Helper()
	return b.mustEntry(b.Users.ToAdd(key, delta, o))
}

func (b *Fixture) toCheck(key string, condition db.Condition) db.Entry {
	b.Helper()
	return b.mustEntry(b.Users.ToCheck(key, condition))
}

func (b *Fixture) toDelete(key string, condition db.Condition) db.Entry {
	b.Helper()
	return b.mustEntry(b.Users.ToDelete(key, condition))
}

func (b *Fixture) mustEntry(e db.Entry, err error) db.Entry {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func atomicApplies(b *Fixture, _ Engine) {
	old := b.Put("old", 1.0)
	guard := b.Put("guard", 1.0)
	b.Scope.Spent = 0
	revs, failed, err := b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{
		b.toPut("put", "stored", db.PutOptions{}),
		b.toDelete("old", db.Condition{Rev: old}),
		b.toAdd("count", 3, db.AddOptions{}),
		b.toCheck("guard", db.Condition{Rev: guard}),
		b.toCheck("absent", db.Condition{New: true}),
		b.toDelete("nothing there", db.Condition{}),
	})
	if err != nil || len(failed) != 0 {
		b.Fatalf("atomic = %v, %v", failed, err)
	}
	if got, want := b.Scope.Spent, int64(6); got != want {
		b.Errorf("cost %d operations, want %d: one per entry", got, want)
	}
	want := []string{b.Get("put").Rev, "", b.Get("count").Rev, "", "", ""}
	if !reflect.DeepEqual(revs, want) {
		b.Errorf("revisions are %q, want %q", revs, want)
	}
	b.WantValue("put", "stored")
	b.WantValue("old", nil)
	b.WantValue("count", 3.0)
	if got := b.Get("guard").Rev; got != guard {
		b.Errorf("a check changed the revision to %q", got)
	}
}

func atomicFails(b *Fixture, _ Engine) {
	rev := b.Put("taken", 1.0)
	_, failed, err := b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{
		b.toPut("other", "stored", db.PutOptions{}),
		b.toPut("taken", 2.0, db.PutOptions{If: db.Condition{New: true}}),
		b.toAdd("count", 1, db.AddOptions{}),
		b.toDelete("gone", db.Condition{Rev: rev}),
		b.toCheck("absent", db.Condition{Rev: rev}),
	})
	want := []db.Failure{
		{Index: 1, Key: "taken", Current: &db.Row{Value: 1.0, Rev: rev}},
		{Index: 3, Key: "gone"},
		{Index: 4, Key: "absent"},
	}
	if err != nil || !reflect.DeepEqual(failed, want) {
		b.Errorf("atomic failed with %v, %v; want %v", failed, err, want)
	}
	b.WantValue("other", nil)
	b.WantValue("count", nil)
	b.WantValue("taken", 1.0)
	if b.Scope.InDoubt != 0 {
		b.Errorf("%d writes are in doubt, want none", b.Scope.InDoubt)
	}
}

func atomicAdds(b *Fixture, _ Engine) {
	zero := 0.0
	b.Put("count", 1.0)
	b.Put("text", "1")
	_, failed, err := b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{b.toAdd("count", -2, db.AddOptions{Min: &zero})})
	if err != nil || len(failed) != 1 || failed[0].Current.Value != 1.0 {
		b.Errorf("crossing a bound = %v, %v; want a failure with the counter", failed, err)
	}
	_, failed, err = b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{b.toAdd("absent", -2, db.AddOptions{Min: &zero})})
	if err != nil || len(failed) != 1 || failed[0].Current != nil {
		b.Errorf("crossing a bound from nothing = %v, %v; want a failure", failed, err)
	}
	_, _, err = b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{b.toAdd("text", 1, db.AddOptions{})})
	if e := b.WantCode(err, db.CodeType); e.Key != "text" || e.Op != "atomic" {
		b.Errorf("the error is about %s of %q, want atomic of text", e.Op, e.Key)
	}
}

func atomicToken(b *Fixture, engine Engine) {
	now := b.Clock.Now().Wall.Unix()
	transact := func(token string) db.TransactResult {
		v := value.Map{}
		for i := range 20 {
			v[fmt.Sprint("field", i)] = float64(i)
		}
		return engine.Transact(b.Context(), token, []db.Write{
			{Kind: db.Add, Key: db.Key{Partition: "acme/users", Key: "count"}, Rev: "add " + token, Delta: 1, Low: -10, High: 10},
			{Kind: db.Put, Key: db.Key{Partition: "acme/users", Key: "put"}, Rev: "put " + token, Value: v},
			{Kind: db.Check, Key: db.Key{Partition: "acme/users", Key: "check"}, If: db.Condition{New: true}},
		}, now)
	}
	for i, token := range []string{"one", "one", "two", "one", "two", "two", "one", "two"} {
		if got := transact(token); got.Outcome != outcome.Applied {
			b.Errorf("transaction %d is answered %v (%v), want applied", i, got.Outcome, got.Err)
		}
	}
	b.WantValue("count", 2.0)
}

func atomicPartitions(b *Fixture, _ Engine) {
	orders := b.Partition("acme", "orders")
	_, failed, err := b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{
		b.mustEntry(orders.ToPut("key", "order", db.PutOptions{})),
		b.toPut("key", "user", db.PutOptions{}),
	})
	if err != nil || len(failed) > 0 {
		b.Fatalf("atomic = %v, %v", failed, err)
	}
	b.WantValue("key", "user")
	if row, err := orders.Get(b.Context(), b.Scope, "key", false); err != nil || row.Value != "order" {
		b.Errorf("orders has %v, %v", row, err)
	}
}

func atomicRefused(b *Fixture, _ Engine) {
	var many []db.Entry
	for i := range 101 {
		many = append(many, b.toPut(fmt.Sprint(i), true, db.PutOptions{}))
	}
	var large []db.Entry
	for i := range 12 {
		large = append(large, b.toPut(fmt.Sprint(i), strings.Repeat("x", 350_000), db.PutOptions{}))
	}
	for _, test := range []struct {
		name    string
		entries []db.Entry
		code    string
	}{
		{"no entry", nil, db.CodeTooLarge},
		{"101 entries", many, db.CodeTooLarge},
		{"over 4 MB", large, db.CodeTooLarge},
		{"one key twice", []db.Entry{b.toPut("k", 1.0, db.PutOptions{}), b.toCheck("k", db.Condition{New: true})}, db.CodeKey},
	} {
		_, _, err := b.DB.Atomic(b.Context(), b.Scope, "acme", test.entries)
		b.WantCode(err, test.code)
	}
	if _, err := b.Users.ToCheck("k", db.Condition{}); err == nil {
		b.Error("a check without a condition is not refused")
	}
	if _, err := b.Users.ToPut("k", 1.0, db.PutOptions{If: db.Condition{New: true, Rev: "r"}}); err == nil {
		b.Error("rev together with new is not refused")
	}
	if b.Scope.Spent != 0 {
		b.Errorf("refused transactions cost %d operations", b.Scope.Spent)
	}
	if _, _, err := b.DB.Atomic(b.Context(), b.Scope, "acme", many[:100]); err != nil || b.Scope.Spent != 100 {
		b.Errorf("100 entries: %v, cost %d operations, want 100", err, b.Scope.Spent)
	}
}

// tenants never meet.
var tenants = []contract{{"partitions whose names look alike never meet", tenantsApart}}

func tenantsApart(b *Fixture, _ Engine) {
	places := []struct{ tenant, partition, key string }{
		{"a", "b", "c"}, {"a", "b.c", "c"}, {"a-b", "b", "c"}, {"a_b", "b", "c"}, {"ab", "b", "c"},
		{"a", "b", "b/c"}, {"a", "b", "c#"}, {"a", "B", "c"}, {"a", "b", "C"}, {"a", "b", "%63"},
	}
	for i, place := range places {
		p := b.Partition(place.tenant, place.partition)
		if rev, _, err := p.Put(b.Context(), b.Scope, place.key, float64(i), db.PutOptions{If: db.Condition{New: true}}); err != nil || rev == "" {
			b.Errorf("%v is taken (%v)", place, err)
		}
	}
	for i, place := range places {
		row, err := b.Partition(place.tenant, place.partition).Get(b.Context(), b.Scope, place.key, false)
		if err != nil || row == nil || row.Value != float64(i) {
			b.Errorf("%v has %v, %v; want %d", place, row, err, i)
		}
	}
	for _, name := range []string{"", "!locks", "a/b", "a b", "é", "_a", strings.Repeat("a", 65), "a\n"} {
		_, err := b.DB.Open("acme", name)
		b.WantCode(err, db.CodeKey)
	}
}

func mustTenant(t interface {
	Helper()
	Fatal(...any)
}, id string) tenant.ID {
	t.Helper()
	parsed, err := tenant.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
