local a = string.rep("x", 500000000) .. "a"
local b = string.rep("x", 500000000) .. "b"
local c = os.clock()
print(a < b, os.clock() - c)
