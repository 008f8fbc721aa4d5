-- Assignments to a last parameter.
local function id(x) return x end
local function m(x) return x, x == nil, 7 end
local function f1(p, q) local c = 5; q = id(true); return c, q end
print("f1 want 5 true:", f1(1,2))
local function f2(p, q) q = id(q); return q end
print("f2 want 2:", f2(1,2))
local function f3(p, q) q = select('#', q, m(p)); return q end
print("f3 want 4:", f3(1,2))
local function f4(p) local a, b, c = 1, 2, 3; p = id(p); return a, b, c, p end
print("f4 want 1 2 3 9:", f4(9))
local function f5(p, q) local a, b = 1, 2; q = tostring(q) .. "x"; return a, b, q end
print("f5 want 1 2 2x", f5(1,2))
local function f6(self, opts) opts = opts or {}; local n = opts.n or 3; opts = id(opts); return n, type(opts) end
print("f6 want 3 table", f6({}, nil))
local function f7(s) s = s:gsub("a", "b"); return s end
print("f7 want bbb", f7("aaa"))
local function f8(t, s) local k = 1; s = s:upper(); return k, s end
print("f8 want 1 A", f8(1, "a"))
