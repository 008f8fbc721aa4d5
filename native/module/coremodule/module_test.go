package coremodule_test

import (
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

func TestThePageIsTrue(t *testing.T) { nativetest.Docs(t, "../../../docs/native.md", nil) }

func TestTheContextSaysWhoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nativetest.New(t, nil).Expect(t, `["a","test.lua","test",26]`, `
			local c = native.context
			return {c.tenant, c.script, c.host, #c.run_id}`)
	})
}

func TestAScriptCannotTellThatTablesFillLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nativetest.New(t, nil).Expect(t, `["context","deadline","json","log","sleep","time"]`, `
			local names = {}
			for name in pairs(native) do names[#names + 1] = name end
			assert(getmetatable(native) == nil and getmetatable(native.json) == nil)
			table.sort(names)
			return names`)
	})
}
