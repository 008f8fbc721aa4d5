-- The compiler recurses into tables: fatal, no recover helps.
local n = 2e6
local s = "return " .. string.rep("{", n) .. string.rep("}", n)
print(#s)
local f, e = loadstring(s)
print(f, e and #e)
