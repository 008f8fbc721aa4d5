package lualib

import (
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
)

func TestTableMovesLongArraysLikeShortOnes(t *testing.T) {
	run := newRun(t, vm.Limits{})
	got := do(t, run, `
		local wrong = ""
		local function check(what, t, n, want)
			if #t ~= n then wrong = wrong .. what .. " has " .. #t .. " elements " end
			for i = 1, n do
				if t[i] ~= want(i) then wrong = wrong .. what .. "[" .. i .. "] = " .. tostring(t[i]) .. " " break end
			end
			if t[n + 1] ~= nil or t.field ~= "kept" then wrong = wrong .. what .. " has more or less " end
		end
		local function fresh(n, more)
			local t = { field = "kept" }
			for i = 1, n + more do t[i] = i end
			for i = n + 1, n + more do t[i] = nil end
			return t
		end
		for _, n in ipairs({ 16384, 16385, 16386, 33000 }) do
			for _, more in ipairs({ 0, 1, 3000 }) do -- that were removed behind the end
				for _, at in ipairs({ 1, 2, n - 16385, n - 16384, n - 16383, n }) do
					if at >= 1 then
						local what = n .. "+" .. more .. "@" .. at
						local t = fresh(n, more)
						table.insert(t, at, "new")
						check("insert " .. what, t, n + 1, function(i) return i == at and "new" or i < at and i or i - 1 end)
						t = fresh(n, more)
						if table.remove(t, at) ~= at then wrong = wrong .. "not removed " end
						check("remove " .. what, t, n - 1, function(i) return i < at and i or i + 1 end)
					end
				end
			end
		end
		return wrong`)
	if got != `""` {
		t.Errorf("%.500s", got)
	}
}

func TestRawSetOfAFarIndexFillsTheArray(t *testing.T) {
	check(t, []example{
		{`(function() local t = { "a", "b", x = 1 } rawset(t, 100000, "z") return #t, t[1], t[2], t[3], t[99999], t[100000], t.x end)()`, `100000 "a" "b" nil nil "z" 1`},
		{`(function() local t = { "a", "b", x = 1 } table.insert(t, 100000, "z") return #t, t[2], t[3], t[100000], t.x end)()`, `100000 "b" nil "z" 1`},
		{`(function() local t = {} rawset(t, 50000, 1) rawset(t, 100000, 2) local n = 0 for k, v in pairs(t) do n = n + k * v end return n end)()`, `250000`},
		{`(function() local t = {} for i = 1, 60000 do t[i] = i end rawset(t, 100000, 2) return t[1], t[60000], t[60001], t[100000] end)()`, `1 60000 nil 2`},
		{`(function() local t = {} rawset(t, 1e5 + 0.5, 1) rawset(t, -1e5, 2) return #t, t[1e5 + 0.5], t[-1e5] end)()`, `0 1 2`},
	})
}

// polls counts how often a script is checked for interrupts.
func polls(t *testing.T, source string) (n int) {
	t.Helper()
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System()), Yield: func() { n++ }})
	t.Cleanup(run.Close)
	New(compiler.Compile).Open(run.Thread())
	withBigValues(run)
	proto, err := compiler.Compile(t.Context(), "test", source)
	if err != nil {
		t.Fatal(err)
	}
	if _, failure := run.Call(run.Thread().NewFunctionFromProto(proto)); failure != nil {
		t.Fatal(failure)
	}
	return n
}

func TestLongWorkIsPolled(t *testing.T) {
	const mega = 1 << 20
	for _, tt := range []struct {
		source string
		want   int
	}{
		{`local t = {} for i = 1, 200 do t[i] = i end table.insert(t, 1e6, 1)`, 1_000_000 / elementsPerChunk},
		{`rawset({}, 1e6, 1)`, 1_000_000 / elementsPerChunk},
		{`local t = { unpack(list, 1, 100) } rawset(t, 5e5, 1) rawset(t, 1e6, 1)`, 1_500_000 / elementsPerChunk}, // the first half is copied once
		{`table.insert(list, 1, 0) table.remove(list, 1)`, 2 * 200_000 / elementsPerChunk},
		// What is written is copied once more at the end.
		{`string.format(("%s"):rep(16), big:sub(1, 1e6), big:sub(1, 1e6), big:sub(1, 1e6), big:sub(1, 1e6), big, big, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0)`, 2 * 20_000_000 / blockBytes},
		{`big:sub(1, 4e6):gsub("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb")`, 2 * 4_000_000 / blockBytes},
	} {
		if got := polls(t, statement(tt.source)); got < tt.want {
			t.Errorf("%s: got %d polls, want at least %d", tt.source, got, tt.want)
		}
	}
	got := 0
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System()), Yield: func() { got++ }})
	defer run.Close()
	if s := Join(run.Thread(), []string{strings.Repeat("a", 8*mega), "", strings.Repeat("b", 8*mega)}, 16*mega); s != strings.Repeat("a", 8*mega)+strings.Repeat("b", 8*mega) {
		t.Error("the texts aren't joined")
	}
	if want := 16 * mega / blockBytes; got < want-2 {
		t.Errorf("Join: got %d polls, want %d", got, want)
	}
}

func TestBufferKeepsAllParts(t *testing.T) {
	part := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 1000+i*37) }
	run := newRun(t, vm.Limits{})
	var want strings.Builder
	b := buffer{run: run}
	for i := range 2000 {
		b.text(part(i))
		b.char('.')
		want.WriteString(part(i) + ".")
	}
	if got := b.String(); got != want.String() {
		t.Errorf("got %d bytes, want %d, or they differ", len(got), want.Len())
	}
}
