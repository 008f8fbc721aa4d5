package dbtest

import (
	"math"
	"reflect"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/value"
)

// counters are whole numbers.
var counters = []contract{
	{"an addition counts from nothing and from any whole number", addCounts},
	{"an addition that would cross a bound changes nothing", addBounds},
	{"an addition to something else is an error", addType},
	{"only whole numbers can be added", addArguments},
	{"a counter and its lifetime are set in one step, and the lifetime stays", addExpiry},
	{"a put without ttl clears an expiry, an update keeps it", keepExpiry},
}

// expiry: a row whose time has run out is absent for every verb.
var expiry = []contract{
	{"an expired row is absent for every verb", expiredIsAbsent},
	{"an expired counter starts from nothing", expiredCounter},
	{"an expired row does not stop a transaction that wants nothing there", expiredInTransaction},
	{"a ttl is rounded up to a whole second, and bounded", ttlRange},
}

func (b *Fixture) add(key string, delta float64, o db.AddOptions) (float64, bool, *db.Row) {
	b.Helper()
	sum, ok, current, err := b.Users.Add(b.Context(), b.Scope, key, delta, o)
	if err != nil {
		b.Fatalf("add %v to %s: %v", delta, key, err)
	}
	return sum, ok, current
}

func addCounts(b *Fixture, _ Engine) {
	b.Put("set", 40.0)
	for _, test := range []struct {
		key         string
		delta, want float64
	}{
		{"new", 1, 1}, {"new", -3, -2}, {"new", 0, -2}, {"set", 2, 42},
		{"big", 1 << 53, 1 << 53}, {"big", -1 << 53, 0}, {"big", -1 << 53, -1 << 53},
	} {
		if sum, ok, _ := b.add(test.key, test.delta, db.AddOptions{}); !ok || sum != test.want {
			b.Errorf("%s + %v = %v, %v; want %v", test.key, test.delta, sum, ok, test.want)
		}
		b.WantValue(test.key, test.want)
	}
}

func addBounds(b *Fixture, _ Engine) {
	zero, three := 0.0, 3.0
	bounds := db.AddOptions{Min: &zero, Max: &three}
	for _, test := range []struct {
		delta, want float64
		ok          bool
	}{
		{-1, 0, false}, {4, 0, false}, {2, 2, true}, {1, 3, true}, {1, 3, false}, {-4, 3, false}, {-3, 0, true},
	} {
		before := b.Get("key")
		sum, ok, current := b.add("key", test.delta, bounds)
		switch {
		case ok != test.ok, ok && sum != test.want:
			b.Errorf("adding %v = %v, %v; want %v, %v", test.delta, sum, ok, test.want, test.ok)
		case !ok && !reflect.DeepEqual(current, before):
			b.Errorf("refused with %v, want %v", current, before)
		case !ok && !reflect.DeepEqual(b.Get("key"), before):
			b.Errorf("a refused addition changed the row")
		}
	}
	b.Put("full", float64(1<<53))
	if _, ok, _ := b.add("full", 1, db.AddOptions{}); ok {
		b.Error("a counter went past 2^53")
	}
}

func addType(b *Fixture, _ Engine) {
	for _, v := range []any{"1", 1.5, true, value.Null{}, value.List{}, 1e20} {
		rev := b.Put("key", v)
		_, _, _, err := b.Users.Add(b.Context(), b.Scope, "key", 1, db.AddOptions{})
		b.WantCode(err, db.CodeType)
		if b.Get("key").Rev != rev || b.Scope.InDoubt != 0 {
			b.Errorf("an addition to %v changed the row or left a write open", v)
		}
	}
}

func addArguments(b *Fixture, _ Engine) {
	half, five, four := 0.5, 5.0, 4.0
	for _, test := range []struct {
		delta float64
		o     db.AddOptions
		code  string
	}{
		{0.5, db.AddOptions{}, db.CodeValue},
		{math.NaN(), db.AddOptions{}, db.CodeValue},
		{math.Inf(1), db.AddOptions{}, db.CodeValue},
		{1<<53 + 2, db.AddOptions{}, db.CodeValue},
		{1, db.AddOptions{Min: &half}, db.CodeOption},
		{1, db.AddOptions{Min: &five, Max: &four}, db.CodeOption},
		{1, db.AddOptions{TTL: -1}, db.CodeOption},
	} {
		_, _, _, err := b.Users.Add(b.Context(), b.Scope, "key", test.delta, test.o)
		b.WantCode(err, test.code)
	}
	if b.Scope.Spent != 0 {
		b.Errorf("refused arguments cost %d operations", b.Scope.Spent)
	}
}

func addExpiry(b *Fixture, _ Engine) {
	b.add("window", 1, db.AddOptions{TTL: time.Minute})
	first := b.Get("window").Expires
	b.Clock.Advance(30 * time.Second)
	b.add("window", 1, db.AddOptions{TTL: time.Minute})
	b.add("window", 1, db.AddOptions{})
	if got := b.Get("window").Expires; got != first || got == 0 {
		b.Errorf("the counter expires at %d, want %d as at first", got, first)
	}
	b.Put("plain", 1.0)
	b.add("plain", 1, db.AddOptions{TTL: time.Minute})
	if b.Get("plain").Expires == 0 {
		b.Error("a counter without an expiry did not get the one of the addition")
	}
}

func keepExpiry(b *Fixture, _ Engine) {
	b.PutWith("key", 1.0, db.PutOptions{TTL: time.Hour})
	want := b.Get("key").Expires
	row, err := b.Users.Update(b.Context(), b.Scope, "key", func(*db.Row) (any, error) { return 2.0, nil })
	if err != nil || row.Expires != want || b.Get("key").Expires != want {
		b.Errorf("after an update the row is %v (%v), want it to expire at %d", row, err, want)
	}
	b.Put("key", 3.0)
	if got := b.Get("key").Expires; got != 0 {
		b.Errorf("after a put the row expires at %d, want never", got)
	}
}

// putExpired stores value under key, and lets its time run out.
func (b *Fixture) putExpired(key string, v any) (rev string) {
	b.Helper()
	rev = b.PutWith(key, v, db.PutOptions{TTL: time.Second})
	b.Clock.Advance(3 * time.Second)
	return rev
}

func expiredIsAbsent(b *Fixture, _ Engine) {
	rev := b.putExpired("key", 1.0)
	b.WantValue("key", nil)
	if got, err := b.Users.GetMany(b.Context(), b.Scope, []string{"key"}, false); err != nil || len(got) != 0 {
		b.Errorf("get_many found %v, %v", got, err)
	}
	if page, err := b.Users.List(b.Context(), b.Scope, db.ListOptions{}); err != nil || len(page.Items) != 0 {
		b.Errorf("list found %v, %v", page, err)
	}
	got, current, err := b.Users.Put(b.Context(), b.Scope, "key", 2.0, db.PutOptions{If: db.Condition{Rev: rev}})
	b.wantRefused(got, current, err, nil)
	ok, current, err := b.Users.Delete(b.Context(), b.Scope, "key", db.Condition{Rev: rev})
	if ok || current != nil || err != nil {
		b.Errorf("delete with the revision = %v, %v, %v; want false", ok, current, err)
	}
	if _, err := b.Users.Update(b.Context(), b.Scope, "key", func(row *db.Row) (any, error) {
		if row != nil {
			b.Errorf("update sees %v", row)
		}
		return 3.0, nil
	}); err != nil {
		b.Error(err)
	}
	b.putExpired("other", 1.0)
	b.PutWith("other", 4.0, db.PutOptions{If: db.Condition{New: true}})
	b.WantValue("other", 4.0)
}

func expiredCounter(b *Fixture, _ Engine) {
	b.putExpired("key", "not even a number")
	if sum, ok, _ := b.add("key", 5, db.AddOptions{TTL: time.Minute}); !ok || sum != 5 {
		b.Errorf("sum is %v, %v; want 5", sum, ok)
	}
	if row := b.Get("key"); row == nil || row.Value != 5.0 || row.Expires == 0 {
		b.Errorf("row is %v, want 5 with an expiry", row)
	}
	b.putExpired("floor", 100.0)
	zero := 0.0
	if _, ok, current := b.add("floor", -1, db.AddOptions{Min: &zero}); ok || current != nil {
		b.Errorf("taking from an expired counter = %v, %v; want a refusal with nothing there", ok, current)
	}
}

func expiredInTransaction(b *Fixture, _ Engine) {
	b.putExpired("new", 1.0)
	b.putExpired("count", 100.0)
	b.putExpired("check", 1.0)
	entries := []db.Entry{
		b.toPut("new", "stored", db.PutOptions{If: db.Condition{New: true}}),
		b.toAdd("count", 1, db.AddOptions{}),
		b.toCheck("check", db.Condition{New: true}),
	}
	if _, failed, err := b.DB.Atomic(b.Context(), b.Scope, "acme", entries); err != nil || len(failed) > 0 {
		b.Fatalf("atomic failed: %v, %v", failed, err)
	}
	b.WantValue("new", "stored")
	b.WantValue("count", 1.0)
	b.WantValue("check", nil)
}

func ttlRange(b *Fixture, _ Engine) {
	before := b.Clock.Now().Wall
	b.PutWith("key", 1.0, db.PutOptions{TTL: time.Millisecond})
	if row := b.Get("key"); row != nil && (row.Expires <= before.Unix() || row.Expires > before.Unix()+2) {
		b.Errorf("a row written at %v for 1 ms expires at %d", before, row.Expires)
	}
	for _, ttl := range []time.Duration{-time.Second, 10*365*24*time.Hour + time.Second} {
		_, _, err := b.Users.Put(b.Context(), b.Scope, "key", 1.0, db.PutOptions{TTL: ttl})
		b.WantCode(err, db.CodeOption)
	}
	b.PutWith("key", 1.0, db.PutOptions{TTL: 10 * 365 * 24 * time.Hour})
}
