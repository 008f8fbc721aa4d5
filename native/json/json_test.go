package json_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
)

func TestDecodeAndEncodeKeepKinds(t *testing.T) {
	for _, test := range []struct {
		text  string
		value any
	}{
		{`null`, value.Null{}},
		{`true`, true},
		{`[]`, value.List{}},
		{`{}`, value.Map{}},
		{`[[],{},null,[null]]`, value.List{value.List{}, value.Map{}, value.Null{}, value.List{value.Null{}}}},
		{`{"a":{"b":[]},"c":""}`, value.Map{"a": value.Map{"b": value.List{}}, "c": ""}},
		{`9007199254740991`, 9007199254740991.0},
		{`15947634569000324`, 15947634569000324.0},
		{`0.1`, 0.1},
		{`1e+300`, 1e300},
		{`5e-324`, 5e-324},
		{`"<&>\"\\\u0001` + "\u2028é" + `"`, "<&>\"\\\x01\u2028é"},
	} {
		got, err := json.Decode([]byte(test.text))
		if diff := cmp.Diff(test.value, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", test.text, err, diff)
		}
		text, err := json.Encode(test.value, "value", math.MaxInt)
		want := strings.ReplaceAll(test.text, "\u2028", `\u2028`)
		if err != nil || string(text) != want {
			t.Errorf("got %s, %v, want %s", text, err, want)
		}
	}
}

func TestEncodeWritesNegativeZeroAsZero(t *testing.T) {
	if text, err := json.Encode(math.Copysign(0, -1), "value", math.MaxInt); string(text) != "0" || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestDecodeRefusesWhatIsNotJSON(t *testing.T) {
	for _, text := range []string{
		"", " ", "nul", "[1", "[1,]", `{"a"}`, `{a:1}`, "1 2", "NaN", "1e400", "'a'", "\"\xff\"", "[1]x", `{"a":1,}`, "\"\x01\"",
		strings.Repeat("[", 201) + strings.Repeat("]", 201),
	} {
		if v, err := json.Decode([]byte(text)); err == nil {
			t.Errorf("%.40q gave %v", text, v)
		}
	}
	if _, err := json.Decode([]byte(strings.Repeat("[", 200) + strings.Repeat("]", 200))); err != nil {
		t.Errorf("200 lists deep: %v", err)
	}
}

func TestEncodeNamesAStringThatIsNotUTF8ByItsPath(t *testing.T) {
	_, err := json.Encode(value.Map{"items": value.List{"a", value.Map{"b": "\xff"}}}, "result", math.MaxInt)
	var v *value.Error
	if !errors.As(err, &v) || v.Path != "result.items[2].b" {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a":[1,null,"x"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := json.Decode(text)
		if err != nil {
			return
		}
		out, err := json.Encode(v, "value", math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Decode(out)
		if diff := cmp.Diff(v, again); err != nil || diff != "" {
			t.Errorf("%q became %q: %v %s", text, out, err, diff)
		}
	})
}

// Each step lets 1 ms pass here.
func TestEncodeWritesALongStringLikeAShortOne(t *testing.T) {
	// Characters of two and three bytes lie across the ends of chunks.
	for _, unit := range []string{"x", "é", "x\u2028", "\"é", "\x01"} {
		short, err := json.Encode(unit, "value", math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		const n = 100_000
		long, err := json.Encode("a"+strings.Repeat(unit, n), "value", math.MaxInt)
		if want := `"a` + strings.Repeat(string(short[1:len(short)-1]), n) + `"`; err != nil || string(long) != want {
			t.Errorf("%q: got %d bytes, %v, want %d", unit, len(long), err, len(want))
		}
	}
	for _, text := range []string{strings.Repeat("x", 100_000) + "\xff", strings.Repeat("\x80", 100_000), strings.Repeat("x", 64<<10) + "\xa9"} {
		if _, err := json.Encode(text, "value", math.MaxInt); err == nil {
			t.Errorf("%.5q...: no error", text)
		}
	}
}
