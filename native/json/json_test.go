package json_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestThePageIsTrue(t *testing.T) { nativetest.Docs(t, "../../docs/json.md", nil) }

func TestTextAndValueKeepTheirKind(t *testing.T) {
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

func TestNegativeZeroIsZero(t *testing.T) {
	if text, err := json.Encode(math.Copysign(0, -1), "value", math.MaxInt); string(text) != "0" || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestWhatIsNoJSONIsRefused(t *testing.T) {
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

func TestAStringThatIsNotUTF8IsNamedByItsPath(t *testing.T) {
	_, err := json.Encode(value.Map{"items": value.List{"a", value.Map{"b": "\xff"}}}, "result", math.MaxInt)
	var v *value.Error
	if !errors.As(err, &v) || v.Path != "result.items[2].b" {
		t.Errorf("got %v", err)
	}
}

func TestScriptsSeeTheSame(t *testing.T) {
	for _, test := range []struct{ name, want, source string }{
		{"holes", `"value: a list with holes: 2 of 3 elements"`, `return select(2, pcall(native.json.encode, {1, nil, 3})).message`},
		{"both kinds of key", `"value.x: both numbers and strings as keys"`, `return select(2, pcall(native.json.encode, {x = {1, a = 2}})).message`},
		{"NaN", `"value[2]: NaN is not a value"`, `return select(2, pcall(native.json.encode, {1, 0/0})).message`},
		{"a huge index", `"value: a list with holes: 2 of 1000000 elements"`, `return select(2, pcall(native.json.encode, {[1] = true, [1000000] = true})).message`},
		{"a table in itself", `true`, `
			local t = {}
			t.t = t
			return select(2, pcall(native.json.encode, t)).message:find("more than 200 tables deep", 1, true) ~= nil`},
		{"metatables are not asked", `"{}"`, `return native.json.encode(setmetatable({}, {__index = error, __pairs = error}))`},
		{"a bad text", `["json_syntax",false]`, `
			local err = select(2, pcall(native.json.decode, "{"))
			return {err.code, err.retryable}`},
		{"an error as text", `"json_syntax in decode: the text ends too soon"`, `return tostring(select(2, pcall(native.json.decode, "")))`},
		{"an error in a concatenation", `true`, `return (select(2, pcall(native.json.decode, "")) .. "!"):find("soon!", 1, true) ~= nil`},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { nativetest.New(t, nil).Expect(t, test.want, test.source) })
		})
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

func TestNoTextIsWrittenThatIsTooLong(t *testing.T) {
	text := strings.Repeat("x", 1000)
	if out, err := json.Encode(text, "value", 1002); len(out) != 1002 || err != nil {
		t.Errorf("got %d bytes, %v", len(out), err)
	}
	many := value.List{}
	for range 1000 {
		many = append(many, text)
	}
	for name, v := range map[string]any{"one": text, "many": many} {
		_, err := json.Encode(v, "value", 1001)
		if _, ok := errors.AsType[*json.TooLongError](err); !ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		nativetest.New(t, nil).Expect(t, `[false,"json_value","the text has more than 16777216 bytes"]`, `
			local text = ("x"):rep(1e6)
			local list = {}
			for i = 1, 17 do list[i] = text end
			local ok, err = pcall(native.json.encode, list)
			return { ok, err.code, err.message }`)
	})
}

func TestAListMayHaveMoreElementsThanAnArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nativetest.New(t, nil).Invoke(t.Context(), runtime.Invocation{
			Tenant: "a", Script: "test.lua", Limits: tenant.Limits{Timeout: time.Hour}, Source: `
				local list = {}
				for i = 1, 2 ^ 20 + 1 do list[i] = 1 end
				local text = native.json.encode(list)
				return { text:sub(-4), native.json.decode(text)[2 ^ 20 + 1] }`,
		})
		if r.Error != nil || string(r.JSON) != `["1,1]",1]` {
			t.Errorf("got %s, %v", r.JSON, r.Error)
		}
	})
}

// Each look at the clock lets 1 ms pass here.
func TestLongWorkLooksAtTheClock(t *testing.T) {
	for name, call := range map[string]string{
		"reading a long string": `20, native.json.decode, '"' .. ("x"):rep(4e6) .. '"'`,
		"writing a long string": `20, native.json.encode, ("\1"):rep(2e6)`,
		"sorting keys":          `180, native.json.encode, keys`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nativetest.New(t, nil).Expect(t, `[false,"deadline exceeded"]`, `
					local keys = {}
					for i = 1, 10000 do keys["k" .. i] = 1 end
					local ok, err = pcall(native.deadline.with, `+call+`)
					return { ok, ok and "it ended" or err }`)
			})
		})
	}
}

func TestALongStringIsWrittenLikeAShortOne(t *testing.T) {
	// Characters of two and three bytes lie across the ends of pieces.
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
