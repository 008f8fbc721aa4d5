-- Assignments with several sides, and a loop left at once.
for k in pairs({1,2}) do break end
print("after break")
local function first(t) for k in pairs(t) do return k end return "none" end
print(first({a=1}), first({}))
local a, b = 48, 18
while b ~= 0 do a, b = b, a % b end
print("gcd want 6:", a)
local i, t = 1, {}
i, t[i] = i + 1, 20
print("want 2 20:", i, t[1], t[2])
local x, y = 1, 2
x, y = y, x
print("swap want 2 1:", x, y)
local p, q = 1, 1
for _ = 1, 5 do p, q = q, p + q end
print("fib want 8 13:", p, q)
local m, n = 3, 4
m, n = m + n, m * n
print("want 7 12:", m, n)
local s, e = 1, 2
s, e = (s or 0) + 1, math.max(s, e)
print("want 2 2:", s, e)
local u, w = 5, 6
u, w = u and u + 1, tostring(u)
print("want 6 5:", u, w)
local c, d = 1, 9
c, d = math.min(c, d) + 10, math.max(c, d)
print("want 11 9:", c, d)
local ok, val = nil, "v"
ok, val = (val == "v"), (ok == nil and "unset" or "set")
print("want true unset", ok, val)
