-- The compiler recurses into operands: fatal, no recover helps.
local n = 3e6
local s = "return " .. string.rep("not ", n) .. "x"
print(#s)
local f, e = loadstring(s)
print(f, e and #e)
