package sqlite

import (
	"encoding/hex"
	"math"
	"reflect"
	"testing"

	"github.com/tidelock-lua/tidelock/native/value"
)

func TestEncodeIsCBOR(t *testing.T) {
	// The examples of RFC 8949, appendix A, as far as values have their like.
	for _, test := range []struct {
		value any
		want  string
	}{
		{0.0, "00"}, {23.0, "17"}, {24.0, "1818"}, {1000.0, "1903e8"}, {1000000.0, "1a000f4240"},
		{1000000000000.0, "1b000000e8d4a51000"}, {-1.0, "20"}, {-1000.0, "3903e7"},
		{1.1, "fb3ff199999999999a"}, {1.0e+300, "fb7e37e43c8800759c"}, {-4.1, "fbc010666666666666"},
		{math.Copysign(0, -1), "00"},
		{false, "f4"}, {true, "f5"}, {value.Null{}, "f6"},
		{"", "60"}, {"IETF", "6449455446"}, {"ü", "62c3bc"}, {"\xff", "41ff"},
		{value.List{}, "80"}, {value.List{1.0, value.List{2.0, 3.0}}, "8201820203"},
		{value.Map{}, "a0"}, {value.Map{"b": value.List{2.0, 3.0}, "a": 1.0}, "a26161016162820203"},
	} {
		encoded := encode(nil, test.value)
		if got := hex.EncodeToString(encoded); got != test.want {
			t.Errorf("%#v is stored as %s, want %s", test.value, got, test.want)
		}
		if got, err := decode(encoded); err != nil || !reflect.DeepEqual(got, test.value) && test.want != "00" {
			t.Errorf("%s is read as %#v, %v; want %#v", test.want, got, err, test.value)
		}
	}
}

func FuzzDecodeRefusesDamagedValues(f *testing.F) {
	for _, seed := range []string{"", "9f", "bb7fffffffffffffff", "5b7fffffffffffffff", "1c", "a10102", "8281", "0000", "fb00", "19ff", "c100"} {
		b, err := hex.DecodeString(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			return
		}
		if again, err := decode(encode(nil, v)); err != nil || !equal(again, v) {
			t.Errorf("%x is read as %#v, and after storing as %#v, %v", b, v, again, err)
		}
	})
}

// equal is reflect.DeepEqual, with NaN equal to itself.
func equal(a, b any) bool {
	x, isNumber := a.(float64)
	if y, ok := b.(float64); isNumber && ok {
		return x == y || math.IsNaN(x) && math.IsNaN(y)
	}
	switch x := a.(type) {
	case value.List:
		y, ok := b.(value.List)
		for i := range x {
			ok = ok && len(x) == len(y) && equal(x[i], y[i])
		}
		return ok && len(x) == len(y)
	case value.Map:
		y, ok := b.(value.Map)
		for key := range x {
			ok = ok && equal(x[key], y[key])
		}
		return ok && len(x) == len(y)
	}
	return reflect.DeepEqual(a, b)
}
