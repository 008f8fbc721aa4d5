local s = string.rep("a", 20000)
s:gsub("a", "b")
