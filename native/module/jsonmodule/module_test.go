package jsonmodule_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestDocsAreTrue(t *testing.T) { nativetest.Docs(t, "../../../docs/json.md", nil) }

func TestModuleRefusesWhatIsNotData(t *testing.T) {
	for _, test := range []struct{ name, want, source string }{
		{"holes", `"value: a list with holes: 2 of 3 elements: write null for those that are missing, or tostring(key) for a map"`, `return select(2, pcall(native.json.encode, {1, nil, 3})).message`},
		{"both kinds of key", `"value.x: both numbers and strings as keys: write tostring(key) for a map"`, `return select(2, pcall(native.json.encode, {x = {1, a = 2}})).message`},
		{"NaN", `"value[2]: NaN is not a value"`, `return select(2, pcall(native.json.encode, {1, 0/0})).message`},
		{"a huge index", `"value: a list with holes: 2 of 1000000 elements: write null for those that are missing, or tostring(key) for a map"`, `return select(2, pcall(native.json.encode, {[1] = true, [1000000] = true})).message`},
		{"a table in itself", `true`, `
			local t = {}
			t.t = t
			return select(2, pcall(native.json.encode, t)).message:find("more than 200 tables deep", 1, true) ~= nil`},
		{"metatables are ignored", `"{}"`, `return native.json.encode(setmetatable({}, {__index = error, __pairs = error}))`},
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

func TestEncodeRefusesATextThatIsTooLong(t *testing.T) {
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

func TestDecodeReadsListsLongerThanAnArray(t *testing.T) {
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

func TestRoundedIntegersAreReportedOnce(t *testing.T) {
	const rounded = "warn an integer in JSON was rounded, from 9007199254740993 to 9007199254740992: numbers are doubles, exact up to 2^53; integers beyond should be strings"
	for name, test := range map[string]struct{ source, want string }{
		"rounded, twice":        {`native.json.decode('[9007199254740993,-9007199254740995]') native.json.decode('9007199254740993')`, rounded},
		"exact":                 {`native.json.decode('[9007199254740992,9007199254740994,1152921504606846976,100000000000000000000]')`, ""},
		"no integers":           {`native.json.decode('[9007199254740993.0,1e300,0.1,12345678901234567e3]')`, ""},
		"what was encoded here": {`native.json.decode(native.json.encode({2 ^ 63, -2 ^ 70, 1e20 + 2}))`, ""},
		"as strings": {`
			local t = native.json.decode('[9007199254740993,-9007199254740993,9007199254740992,9007199254740994,9007199254740991,1e300]', {big = "string"})
			assert(t[1] == "9007199254740993" and t[2] == "-9007199254740993" and t[3] == 2 ^ 53)
			assert(t[4] == "9007199254740994" and t[5] == 2 ^ 53 - 1 and t[6] == 1e300)`, ""},
		"other options": {`assert(not pcall(native.json.decode, "1", {big = "number"}) and not pcall(native.json.decode, "1", {bigger = "string"}))`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := nativetest.New(t, nil)
				r := m.Invoke(t.Context(), runtime.Invocation{Tenant: "a", Script: "test.lua", Source: test.source, Limits: tenant.Limits{Timeout: time.Hour}})
				if got := m.Log.String(); r.Error != nil || got != test.want {
					t.Errorf("got %q, %v, want %q", got, r.Error, test.want)
				}
			})
		})
	}
}

func TestRoundedIntegersOfTheEventAreReportedOnce(t *testing.T) {
	const want = "warn the event has an integer that may have been rounded, to 9007199254740992: numbers are doubles, exact up to 2^53; integers beyond should be strings"
	for text, want := range map[string]string{
		`{"id":9007199254740993,"ids":[9007199254740995]}`:                                want,
		`{"a":[-9007199254740993,9007199254740993],"b":1e20,"c":-9007199254740995,"d":1}`: want,
		`{"id":9007199254740991,"n":1e300}`:                                               "",
	} {
		synctest.Test(t, func(t *testing.T) {
			event, err := runtime.ParseEvent([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			m := nativetest.New(t, nil)
			r := m.Invoke(t.Context(), runtime.Invocation{
				Tenant: "a", Script: "test.lua", Source: `return function(event) native.json.decode("9007199254740993") end`,
				Event: event, Limits: tenant.Limits{Timeout: time.Hour},
			})
			if want == "" {
				want = "warn an integer in JSON was rounded, from 9007199254740993 to 9007199254740992: numbers are doubles, exact up to 2^53; integers beyond should be strings"
			}
			if got := m.Log.String(); r.Error != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", text, got, r.Error, want)
			}
		})
	}
}

func TestModuleIsInterruptedInLongWork(t *testing.T) {
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
