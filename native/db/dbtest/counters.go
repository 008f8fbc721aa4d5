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

// expiry: a row that has expired is absent for every operation.
var expiry = []contract{
	{"an expired row is absent for every operation", expiredIsAbsent},
	{"an expired counter starts from nothing", expiredCounter},
	{"an expired row does not stop a transaction that requires a new one", expiredInTransaction},
	{"a ttl is rounded up to a whole second, and bounded", ttlRange},
}

func (f *Fixture) add(key string, delta float64, o db.AddOptions) (float64, bool, *db.Row) {
	f.Helper()
	result, err := f.Users.Add(f.Context(), f.Scope, key, delta, o)
	if err != nil {
		f.Fatalf("add %v to %s: %v", delta, key, err)
	}
	return result.Sum, result.Applied, result.Current
}

func addCounts(f *Fixture, _ Engine) {
	f.Put("set", 40.0)
	for _, test := range []struct {
		key         string
		delta, want float64
	}{
		{"new", 1, 1}, {"new", -3, -2}, {"new", 0, -2}, {"set", 2, 42},
		{"big", 1 << 53, 1 << 53}, {"big", -1 << 53, 0}, {"big", -1 << 53, -1 << 53},
	} {
		if sum, ok, _ := f.add(test.key, test.delta, db.AddOptions{}); !ok || sum != test.want {
			f.Errorf("%s + %v = %v, %v; want %v", test.key, test.delta, sum, ok, test.want)
		}
		f.WantValue(test.key, test.want)
	}
}

func addBounds(f *Fixture, _ Engine) {
	zero, three := 0.0, 3.0
	bounds := db.AddOptions{Min: &zero, Max: &three}
	for _, test := range []struct {
		delta, want float64
		ok          bool
	}{
		{-1, 0, false}, {4, 0, false}, {2, 2, true}, {1, 3, true}, {1, 3, false}, {-4, 3, false}, {-3, 0, true},
	} {
		before := f.Get("key")
		sum, ok, current := f.add("key", test.delta, bounds)
		switch {
		case ok != test.ok, ok && sum != test.want:
			f.Errorf("adding %v = %v, %v; want %v, %v", test.delta, sum, ok, test.want, test.ok)
		case !ok && !reflect.DeepEqual(current, before):
			f.Errorf("refused with %v, want %v", current, before)
		case !ok && !reflect.DeepEqual(f.Get("key"), before):
			f.Errorf("a refused addition changed the row")
		}
	}
	f.Put("full", float64(1<<53))
	if _, ok, _ := f.add("full", 1, db.AddOptions{}); ok {
		f.Error("a counter went past 2^53")
	}
}

func addType(f *Fixture, _ Engine) {
	for _, v := range []any{"1", 1.5, true, value.Null{}, value.List{}, 1e20} {
		rev := f.Put("key", v)
		_, err := f.Users.Add(f.Context(), f.Scope, "key", 1, db.AddOptions{})
		f.WantCode(err, db.CodeType)
		if f.Get("key").Rev != rev || f.Scope.InDoubt != 0 {
			f.Errorf("an addition to %v changed the row or left a write open", v)
		}
	}
}

func addArguments(f *Fixture, _ Engine) {
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
		_, err := f.Users.Add(f.Context(), f.Scope, "key", test.delta, test.o)
		f.WantCode(err, test.code)
	}
	if f.Scope.Spent != 0 {
		f.Errorf("refused arguments cost %d operations", f.Scope.Spent)
	}
}

func addExpiry(f *Fixture, _ Engine) {
	f.add("window", 1, db.AddOptions{TTL: time.Minute})
	first := f.Get("window").Expires
	f.Clock.Advance(30 * time.Second)
	f.add("window", 1, db.AddOptions{TTL: time.Minute})
	f.add("window", 1, db.AddOptions{})
	if got := f.Get("window").Expires; got != first || got == 0 {
		f.Errorf("the counter expires at %d, want %d as at first", got, first)
	}
	f.Put("plain", 1.0)
	f.add("plain", 1, db.AddOptions{TTL: time.Minute})
	if f.Get("plain").Expires == 0 {
		f.Error("a counter without an expiry did not get the one of the addition")
	}
}

func keepExpiry(f *Fixture, _ Engine) {
	f.PutWith("key", 1.0, db.PutOptions{TTL: time.Hour})
	want := f.Get("key").Expires
	row, err := f.Users.Update(f.Context(), f.Scope, "key", func(*db.Row) (any, error) { return 2.0, nil })
	if err != nil || row.Expires != want || f.Get("key").Expires != want {
		f.Errorf("after an update the row is %v (%v), want it to expire at %d", row, err, want)
	}
	f.Put("key", 3.0)
	if got := f.Get("key").Expires; got != 0 {
		f.Errorf("after a put the row expires at %d, want never", got)
	}
}

// putExpired stores value under key, and lets its time run out.
func (f *Fixture) putExpired(key string, v any) (rev string) {
	f.Helper()
	rev = f.PutWith(key, v, db.PutOptions{TTL: time.Second})
	f.Clock.Advance(3 * time.Second)
	return rev
}

func expiredIsAbsent(f *Fixture, _ Engine) {
	rev := f.putExpired("key", 1.0)
	f.WantValue("key", nil)
	if got, err := f.Users.GetMany(f.Context(), f.Scope, []string{"key"}, false); err != nil || len(got) != 0 {
		f.Errorf("get_many found %v, %v", got, err)
	}
	if page, err := f.Users.List(f.Context(), f.Scope, db.ListOptions{}); err != nil || len(page.Items) != 0 {
		f.Errorf("list found %v, %v", page, err)
	}
	got, current, err := f.Users.Put(f.Context(), f.Scope, "key", 2.0, db.PutOptions{If: db.Condition{Rev: rev}})
	f.wantRefused(got, current, err, nil)
	ok, current, err := f.Users.Delete(f.Context(), f.Scope, "key", db.Condition{Rev: rev})
	if ok || current != nil || err != nil {
		f.Errorf("delete with the revision = %v, %v, %v; want false", ok, current, err)
	}
	if _, err := f.Users.Update(f.Context(), f.Scope, "key", func(row *db.Row) (any, error) {
		if row != nil {
			f.Errorf("update sees %v", row)
		}
		return 3.0, nil
	}); err != nil {
		f.Error(err)
	}
	f.putExpired("other", 1.0)
	f.PutWith("other", 4.0, db.PutOptions{If: db.Condition{New: true}})
	f.WantValue("other", 4.0)
}

func expiredCounter(f *Fixture, _ Engine) {
	f.putExpired("key", "not even a number")
	if sum, ok, _ := f.add("key", 5, db.AddOptions{TTL: time.Minute}); !ok || sum != 5 {
		f.Errorf("sum is %v, %v; want 5", sum, ok)
	}
	if row := f.Get("key"); row == nil || row.Value != 5.0 || row.Expires == 0 {
		f.Errorf("row is %v, want 5 with an expiry", row)
	}
	f.putExpired("floor", 100.0)
	zero := 0.0
	if _, ok, current := f.add("floor", -1, db.AddOptions{Min: &zero}); ok || current != nil {
		f.Errorf("taking from an expired counter = %v, %v; want a refusal with nothing there", ok, current)
	}
}

func expiredInTransaction(f *Fixture, _ Engine) {
	f.putExpired("new", 1.0)
	f.putExpired("count", 100.0)
	f.putExpired("check", 1.0)
	entries := []db.Entry{
		f.toPut("new", "stored", db.PutOptions{If: db.Condition{New: true}}),
		f.toAdd("count", 1, db.AddOptions{}),
		f.toCheck("check", db.Condition{New: true}),
	}
	if _, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", entries); err != nil || len(failed) > 0 {
		f.Fatalf("atomic failed: %v, %v", failed, err)
	}
	f.WantValue("new", "stored")
	f.WantValue("count", 1.0)
	f.WantValue("check", nil)
}

func ttlRange(f *Fixture, _ Engine) {
	before := f.Clock.Now().Wall
	f.PutWith("key", 1.0, db.PutOptions{TTL: time.Millisecond})
	if row := f.Get("key"); row != nil && (row.Expires <= before.Unix() || row.Expires > before.Unix()+2) {
		f.Errorf("a row written at %v for 1 ms expires at %d", before, row.Expires)
	}
	for _, ttl := range []time.Duration{-time.Second, 10*365*24*time.Hour + time.Second} {
		_, _, err := f.Users.Put(f.Context(), f.Scope, "key", 1.0, db.PutOptions{TTL: ttl})
		f.WantCode(err, db.CodeOption)
	}
	f.PutWith("key", 1.0, db.PutOptions{TTL: 10 * 365 * 24 * time.Hour})
}
