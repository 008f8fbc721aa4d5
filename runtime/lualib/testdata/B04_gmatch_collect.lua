local s = string.rep("a", 10000000)
for c in s:gmatch(".") do break end
