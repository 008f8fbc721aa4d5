local t = {}
for i = 1, 8000000 do t[i] = true end
for i = 8000000, 2, -1 do t[i] = nil end
arm(50)
local c = os.clock()
local n = #t
print("one # on 8M trailing nils", os.clock() - c)
