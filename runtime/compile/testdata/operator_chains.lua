-- Long chains of and, or and .. recurse.
local n = 20000
local s = "local x = 1 return x" .. string.rep(" and x", n)
local c = os.clock()
local f, e = loadstring(s)
print(#s, f, e, os.clock() - c)
local s = "local x = 1 if x" .. string.rep(" or x", n) .. " then end"
local c = os.clock()
local f, e = loadstring(s)
print(#s, f, e, os.clock() - c)
local s = "local x = 1 return x" .. string.rep("..x", n)
local c = os.clock()
local f, e = loadstring(s)
print(#s, f, e, os.clock() - c)
