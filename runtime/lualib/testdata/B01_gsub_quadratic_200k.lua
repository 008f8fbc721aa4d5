local s = string.rep("a", 200000)
s:gsub("a", "b")
