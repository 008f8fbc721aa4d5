-- Nested blocks, gotos across them, a long elseif chain.
local n = 20000
local s = string.rep("do local a ", n) .. string.rep(" end", n)
local c = os.clock()
print(pcall(loadstring, s))
print(#s, os.clock() - c)
local s = string.rep("do goto x ", 3000) .. string.rep(" end", 3000) .. "::x::"
local c = os.clock()
print(pcall(loadstring, s))
print(#s, os.clock() - c)
local s = "if x then " .. string.rep("elseif x then ", 20000) .. " end"
local c = os.clock()
print(pcall(loadstring, s))
print(#s, os.clock() - c)
