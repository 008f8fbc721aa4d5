local s = string.rep("a", 40000)
s:gsub("a", string.upper)
