-- Looking for a block's last statement is quadratic in labels.
local parts = {}
for j = 1, 50000 do parts[j] = "::a" .. j .. "::" end
local b = ""
for a = 1, 50000, 500 do b = b .. table.concat(parts, "", a, a+499) end
local c = os.clock()
local f, e = loadstring(b)
print(#b, f, e, os.clock() - c)
