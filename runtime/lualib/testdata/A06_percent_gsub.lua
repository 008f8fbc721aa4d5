local s = string.rep("%%", 10e6)
print(#s)
local r = string.gsub("x", "x", s)
print(#r)
