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
		{"holes", `"value: a list with holes: 2 of 3 elements"`, `return select(2, pcall(native.json.encode, {1, nil, 3})).message`},
		{"both kinds of key", `"value.x: both numbers and strings as keys"`, `return select(2, pcall(native.json.encode, {x = {1, a = 2}})).message`},
		{"NaN", `"value[2]: NaN is not a value"`, `return select(2, pcall(native.json.encode, {1, 0/0})).message`},
		{"a huge index", `"value: a list with holes: 2 of 1000000 elements"`, `return select(2, pcall(native.json.encode, {[1] = true, [1000000] = true})).message`},
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
