local s = string.rep("a", 60)
s:find(string.rep("a-", 12) .. "b")
