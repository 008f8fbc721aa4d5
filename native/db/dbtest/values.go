package dbtest

import (
	"math"
	"strings"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

// values come back as they were stored, or are refused before any request.
var values = []contract{
	{"values come back as they were stored", valuesComeBack},
	{"negative zero is stored as zero", negativeZero},
	{"values that some engine could not keep are refused with the path", valuesRefused},
	{"the largest value is stored, a byte more is refused", largestValue},
	{"keys are any UTF-8 of 1 to 512 bytes", keysChecked},
}

func nested(depth int) any {
	var v any = value.List{}
	for range depth - 1 {
		v = value.List{v}
	}
	return v
}

func valuesComeBack(f *Fixture, _ Engine) {
	for _, want := range []any{
		true, false, value.Null{}, "", "text", "a\x00b", "\x80", "é\xff",
		value.List{}, value.Map{}, value.List{value.List{}, value.Map{}},
		value.Map{"list": value.List{}, "map": value.Map{}},
		value.List{1.0, value.Null{}, value.Null{}},
		value.Map{"a b": 1.0, "é": value.Map{"\x00": "x"}},
		0.0, 1.0, -1.0, 23.0, 24.0, 255.0, 256.0, 65536.0, -256.0, -257.0, 4294967296.0,
		float64(1 << 53), float64(-1 << 53), float64(1<<53 + 2), 15947634569000323.0,
		0.1, -0.1, 1.23e40, 1e-130, -1e-130, 9.99999999999999e125, math.Pi,
		123456789012345678.0, strings.Repeat("x", 70_000), nested(31),
	} {
		f.Put("key", want)
		f.WantValue("key", want)
	}
}

func negativeZero(f *Fixture, _ Engine) {
	f.Put("key", value.List{math.Copysign(0, -1), value.Map{"n": math.Copysign(0, -1)}})
	list := f.Get("key").Value.(value.List)
	for _, v := range []any{list[0], list[1].(value.Map)["n"]} {
		if math.Signbit(v.(float64)) {
			f.Errorf("-0 came back as %v, want 0", v)
		}
	}
}

func valuesRefused(f *Fixture, _ Engine) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, "value: nil"},
		{math.NaN(), "value: number NaN"},
		{math.Inf(-1), "value: number -Inf"},
		{1e126, "value: number 1e+126"},
		{5e-324, "value: number 5e-324"},
		{value.Map{"items": value.List{1.0, value.Map{"a b": 1e300}}}, `value.items[2]["a b"]: number 1e+300`},
		{value.Map{"": true}, "value: a map key is empty"},
		{value.Map{"m": value.Map{"\xff": true}}, `value.m: map key "\xff" is not valid UTF-8`},
		{nested(32), "more than 31"},
		{value.List{3}, "value[1]: int can't be stored"},
	} {
		_, _, err := f.Users.Put(f.Context(), f.Scope, "key", test.value, db.PutOptions{})
		e := f.WantCode(err, db.CodeValue)
		if !strings.Contains(e.Message, test.want) || e.Applied != outcome.AppliedNo {
			f.Errorf("message %q (applied %q), want %q in it (applied no)", e.Message, e.Applied, test.want)
		}
	}
	if f.Scope.Spent != 0 || f.Scope.InDoubt != 0 {
		f.Errorf("refused values cost %d operations and left %d writes open, want none", f.Scope.Spent, f.Scope.InDoubt)
	}
}

func largestValue(f *Fixture, _ Engine) {
	const most = 380 << 10
	f.Put("key", strings.Repeat("x", most))
	if got := len(f.Get("key").Value.(string)); got != most {
		f.Errorf("got %d bytes back, want %d", got, most)
	}
	_, _, err := f.Users.Put(f.Context(), f.Scope, "key", strings.Repeat("x", most+1), db.PutOptions{})
	f.WantCode(err, db.CodeTooLarge)
}

func keysChecked(f *Fixture, _ Engine) {
	for _, key := range []string{
		"a", "a/b", "#", "%2f", `\`, ":", "a\x00", "a\x00b", "\x00", "!locks", strings.Repeat("é", 256), "\uFFFD", "𝄞", "\u007f",
	} {
		f.Put(key, key)
		f.WantValue(key, key)
	}
	f.WantValue("a", "a")
	for _, key := range []string{"", "\x80", "a\xff", strings.Repeat("k", 513), "\U0010FFFF"} {
		_, err := f.Users.Get(f.Context(), f.Scope, key, false)
		f.WantCode(err, db.CodeKey)
		_, _, err = f.Users.Put(f.Context(), f.Scope, key, true, db.PutOptions{})
		f.WantCode(err, db.CodeKey)
		_, _, err = f.Users.Delete(f.Context(), f.Scope, key, db.Condition{})
		f.WantCode(err, db.CodeKey)
	}
}
