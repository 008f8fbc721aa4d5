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

func (f *Fixture) toPut(key string, v any, o db.PutOptions) db.Entry {
	f.Helper()
	return f.mustEntry(f.Users.ToPut(key, v, o))
}

func (f *Fixture) toAdd(key string, delta float64, o db.AddOptions) db.Entry {
	f.Helper()
	return f.mustEntry(f.Users.ToAdd(key, delta, o))
}

func (f *Fixture) toCheck(key string, condition db.Condition) db.Entry {
	f.Helper()
	return f.mustEntry(f.Users.ToCheck(key, condition))
}

func (f *Fixture) toDelete(key string, condition db.Condition) db.Entry {
	f.Helper()
	return f.mustEntry(f.Users.ToDelete(key, condition))
}

func (f *Fixture) mustEntry(e db.Entry, err error) db.Entry {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
	return e
}

func atomicApplies(f *Fixture, _ Engine) {
	old := f.Put("old", 1.0)
	guard := f.Put("guard", 1.0)
	f.Scope.Spent = 0
	revs, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{
		f.toPut("put", "stored", db.PutOptions{}),
		f.toDelete("old", db.Condition{Rev: old}),
		f.toAdd("count", 3, db.AddOptions{}),
		f.toCheck("guard", db.Condition{Rev: guard}),
		f.toCheck("absent", db.Condition{New: true}),
		f.toDelete("nothing there", db.Condition{}),
	})
	if err != nil || len(failed) != 0 {
		f.Fatalf("atomic = %v, %v", failed, err)
	}
	if got, want := f.Scope.Spent, int64(6); got != want {
		f.Errorf("cost %d operations, want %d: one per entry", got, want)
	}
	want := []string{f.Get("put").Rev, "", f.Get("count").Rev, "", "", ""}
	if !reflect.DeepEqual(revs, want) {
		f.Errorf("revisions are %q, want %q", revs, want)
	}
	f.WantValue("put", "stored")
	f.WantValue("old", nil)
	f.WantValue("count", 3.0)
	if got := f.Get("guard").Rev; got != guard {
		f.Errorf("a check changed the revision to %q", got)
	}
}

func atomicFails(f *Fixture, _ Engine) {
	rev := f.Put("taken", 1.0)
	_, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{
		f.toPut("other", "stored", db.PutOptions{}),
		f.toPut("taken", 2.0, db.PutOptions{If: db.Condition{New: true}}),
		f.toAdd("count", 1, db.AddOptions{}),
		f.toDelete("gone", db.Condition{Rev: rev}),
		f.toCheck("absent", db.Condition{Rev: rev}),
	})
	want := []db.Failure{
		{Index: 1, Key: "taken", Current: &db.Row{Value: 1.0, Rev: rev}},
		{Index: 3, Key: "gone"},
		{Index: 4, Key: "absent"},
	}
	if err != nil || !reflect.DeepEqual(failed, want) {
		f.Errorf("atomic failed with %v, %v; want %v", failed, err, want)
	}
	f.WantValue("other", nil)
	f.WantValue("count", nil)
	f.WantValue("taken", 1.0)
	if f.Scope.InDoubt != 0 {
		f.Errorf("%d writes are in doubt, want none", f.Scope.InDoubt)
	}
}

func atomicAdds(f *Fixture, _ Engine) {
	zero := 0.0
	f.Put("count", 1.0)
	f.Put("text", "1")
	_, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{f.toAdd("count", -2, db.AddOptions{Min: &zero})})
	if err != nil || len(failed) != 1 || failed[0].Current.Value != 1.0 {
		f.Errorf("crossing a bound = %v, %v; want a failure with the counter", failed, err)
	}
	_, failed, err = f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{f.toAdd("absent", -2, db.AddOptions{Min: &zero})})
	if err != nil || len(failed) != 1 || failed[0].Current != nil {
		f.Errorf("crossing a bound from nothing = %v, %v; want a failure", failed, err)
	}
	_, _, err = f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{f.toAdd("text", 1, db.AddOptions{})})
	if e := f.WantCode(err, db.CodeType); e.Key != "text" || e.Op != "atomic" {
		f.Errorf("the error is about %s of %q, want atomic of text", e.Op, e.Key)
	}
}

func atomicToken(f *Fixture, engine Engine) {
	now := f.Clock.Now().Wall.Unix()
	transact := func(token string) db.TransactResult {
		v := value.Map{}
		for i := range 20 {
			v[fmt.Sprint("field", i)] = float64(i)
		}
		return engine.Transact(f.Context(), token, []db.Write{
			{Kind: db.Add, Key: db.Key{Partition: "acme/users", Key: "count"}, Rev: "add " + token, Delta: 1, Low: -10, High: 10},
			{Kind: db.Put, Key: db.Key{Partition: "acme/users", Key: "put"}, Rev: "put " + token, Value: v},
			{Kind: db.Check, Key: db.Key{Partition: "acme/users", Key: "check"}, If: db.Condition{New: true}},
		}, now)
	}
	for i, token := range []string{"one", "one", "two", "one", "two", "two", "one", "two"} {
		if got := transact(token); got.Outcome != outcome.Applied {
			f.Errorf("transaction %d is answered %v (%v), want applied", i, got.Outcome, got.Err)
		}
	}
	f.WantValue("count", 2.0)
}

func atomicPartitions(f *Fixture, _ Engine) {
	orders := f.Partition("acme", "orders")
	_, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{
		f.mustEntry(orders.ToPut("key", "order", db.PutOptions{})),
		f.toPut("key", "user", db.PutOptions{}),
	})
	if err != nil || len(failed) > 0 {
		f.Fatalf("atomic = %v, %v", failed, err)
	}
	f.WantValue("key", "user")
	if row, err := orders.Get(f.Context(), f.Scope, "key", false); err != nil || row.Value != "order" {
		f.Errorf("orders has %v, %v", row, err)
	}
}

func atomicRefused(f *Fixture, _ Engine) {
	var many []db.Entry
	for i := range 101 {
		many = append(many, f.toPut(fmt.Sprint(i), true, db.PutOptions{}))
	}
	var large []db.Entry
	for i := range 12 {
		large = append(large, f.toPut(fmt.Sprint(i), strings.Repeat("x", 350_000), db.PutOptions{}))
	}
	for _, test := range []struct {
		name    string
		entries []db.Entry
		code    string
	}{
		{"no entry", nil, db.CodeTooLarge},
		{"101 entries", many, db.CodeTooLarge},
		{"over 4 MB", large, db.CodeTooLarge},
		{"one key twice", []db.Entry{f.toPut("k", 1.0, db.PutOptions{}), f.toCheck("k", db.Condition{New: true})}, db.CodeKey},
	} {
		_, _, err := f.DB.Atomic(f.Context(), f.Scope, "acme", test.entries)
		f.WantCode(err, test.code)
	}
	if _, err := f.Users.ToCheck("k", db.Condition{}); err == nil {
		f.Error("a check without a condition is not refused")
	}
	if _, err := f.Users.ToPut("k", 1.0, db.PutOptions{If: db.Condition{New: true, Rev: "r"}}); err == nil {
		f.Error("rev together with new is not refused")
	}
	if f.Scope.Spent != 0 {
		f.Errorf("refused transactions cost %d operations", f.Scope.Spent)
	}
	if _, _, err := f.DB.Atomic(f.Context(), f.Scope, "acme", many[:100]); err != nil || f.Scope.Spent != 100 {
		f.Errorf("100 entries: %v, cost %d operations, want 100", err, f.Scope.Spent)
	}
}

// tenants never meet.
var tenants = []contract{{"partitions whose names look alike never meet", tenantsApart}}

func tenantsApart(f *Fixture, _ Engine) {
	places := []struct{ tenant, partition, key string }{
		{"a", "b", "c"}, {"a", "b.c", "c"}, {"a-b", "b", "c"}, {"a_b", "b", "c"}, {"ab", "b", "c"},
		{"a", "b", "b/c"}, {"a", "b", "c#"}, {"a", "B", "c"}, {"a", "b", "C"}, {"a", "b", "%63"},
	}
	for i, place := range places {
		p := f.Partition(place.tenant, place.partition)
		if rev, _, err := p.Put(f.Context(), f.Scope, place.key, float64(i), db.PutOptions{If: db.Condition{New: true}}); err != nil || rev == "" {
			f.Errorf("%v is taken (%v)", place, err)
		}
	}
	for i, place := range places {
		row, err := f.Partition(place.tenant, place.partition).Get(f.Context(), f.Scope, place.key, false)
		if err != nil || row == nil || row.Value != float64(i) {
			f.Errorf("%v has %v, %v; want %d", place, row, err, i)
		}
	}
	for _, name := range []string{"", "!locks", "a/b", "a b", "é", "_a", strings.Repeat("a", 65), "a\n"} {
		_, err := f.DB.Open("acme", name)
		f.WantCode(err, db.CodeKey)
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
