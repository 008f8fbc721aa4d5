-- The parser alone takes seconds and a gigabyte.
local n = 2e6
local s = "return " .. string.rep("(", n) .. "x" .. string.rep(")", n)
print(#s)
local f, e = loadstring(s)
print(f, e and #e)
