-- Constant folding is quadratic: 60 kB of source, 21 s.
local n = 30000
local s = "local x = 1 return x" .. string.rep("+1", n)
local c = os.clock()
local f, e = loadstring(s)
print(#s, f, e, os.clock() - c)
