local s = string.rep("a", 100000)
s:gsub("a", "b")
