local s = string.rep("a", 990000)
print(pcall(string.match, s, "^(.*)(.*)(.*)b"))
