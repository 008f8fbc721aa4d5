package lualib

import (
	"os/exec"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// long makes a list that is longer than the array of a table can be, in both
// directions of the array's end, and describe shows what it has become.
const long = `
	local N = 1100000
	local function describe(t)
		local sum, n = 0, 0
		for k, v in pairs(t) do
			if type(k) == "number" then sum = sum + k * (v % 7) n = n + 1 end
		end
		local last = 0
		for i in ipairs(t) do last = i end
		local e = 1048575
		return #t .. " " .. table.getn(t) .. " " .. table.maxn(t) .. " " .. n .. " " .. sum .. " " .. last .. " " .. tostring(t[1])
			.. " " .. tostring(t[e - 1]) .. " " .. tostring(t[e]) .. " " .. tostring(t[e + 1]) .. " " .. tostring(t[e + 2]) .. " " .. tostring(t[#t])
	end
`

// longLists holds what is done with a long list t; each returns a text.
var longLists = map[string]string{
	"append":          `local u = {} for i = 1, N do u[#u + 1] = i end return describe(u)`,
	"insert at end":   `local u = {} for i = 1, N do table.insert(u, i) end return describe(u)`,
	"insert":          `table.insert(t, 3, "3") table.insert(t, N - 2, "5") table.insert(t, #t + 1, 9) table.insert(t, 1048575, 77) table.insert(t, 1048576, 78) return describe(t)`,
	"remove":          `local r = {} for _, at in ipairs{1, 1048574, 1048574, 1048575, 1048576, 1048577, 1099990} do r[#r + 1] = table.remove(t, at) end r[#r + 1] = table.remove(t) return describe(t) .. table.concat(r, ",")`,
	"remove to array": `for i = 1, 60000 do table.remove(t) end return describe(t)`,
	"set nil":         `for i = N, 1040000, -1 do t[#t] = nil end return describe(t)`,
	"append again":    `for i = N, 1040000, -1 do t[#t] = nil end for i = 1, 50000 do t[#t + 1] = 1 end return describe(t)`,
	"concat":          `local s = table.concat(t, ",") return #s .. s:sub(-50) .. table.concat(t, ";", 1048570, 1048580) .. table.concat(t, ";", N - 3)`,
	"sort":            `for i = 1, N do t[i] = i * 7919 % N end table.sort(t) return describe(t)`,
	"sort by":         `local u = {} for i = 1, N do u[i] = (i % 2 == 0) and i or -i end table.sort(u, function(a, b) return a > b end) return describe(u)`,
	"unpack":          `return table.concat({unpack(t, 1048570, 1048580)}, ",") .. select("#", unpack(t, N - 10)) .. table.concat({unpack(t, N - 10)}, ",")`,
	"from the end":    `local u = {} for i = N, 1, -1 do u[i] = i end return describe(u)`,
	"next":            `local seen, n = {}, 0 local k, v = next(t) while k do n = n + 1 if seen[k] or v ~= k then return "twice " .. k end seen[k] = true k, v = next(t, k) end return n .. " " .. tostring(next(t, N))`,
	"rawset":          `rawset(t, N + 1, 5) rawset(t, N + 2, 6) return describe(t) .. rawget(t, N + 2)`,
	"clear in pairs":  `local n = 0 for k in pairs(t) do t[k] = nil n = n + 1 end return n .. describe(t)`,
	"fields too":      `t.x = 1 t.y = 2 t[-1] = 3 t[0.5] = 7 return describe(t)`,
	"__len":           `setmetatable(t, {__index = function(_, k) return k end}) return describe(t) .. t[N + 5]`,
	"constructor":     `local u = {unpack(t, N - 7000)} return #u .. " " .. u[#u]`,
	"compare":         `return tostring(#t == N) .. tostring(#t > 1048576) .. #t + 1`,
}

// TestListsAreLongerThanArrays compares each with lua5.1.
func TestListsAreLongerThanArrays(t *testing.T) {
	for name, body := range longLists {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "lua5.1", "-")
			cmd.Stdin = strings.NewReader(long + "local t = {} for i = 1, N do t[i] = i end io.write((function() " + body + " end)())")
			want, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			run := newRun(t, vm.Limits{})
			list := newTable()
			for i := 1; i <= 1_100_000; i++ {
				list.RawSetInt(i, lua.LNumber(i))
			}
			run.Globals().RawSetString("t", list)
			if got := do(t, run, long+"local t = t "+body); got != `"`+string(want)+`"` {
				t.Errorf("got %.600s\nwant %.600s", got, want)
			}
		})
	}
}
