-- Loop bodies with branches never taken.
local n = 0
for k in pairs({1,2,3}) do n = n + 1 if false then local x = 1 end end
print("n", n)
local t = {}
for k, v in pairs({a=1}) do if nil then local z = k end t[#t+1] = v end
print(#t)
local function f() for i,v in ipairs({5,6}) do if false then local q = v; print(q) end end return "r" end
print(f())
