local s = string.rep("(", 5e6)
print(pcall(string.find, "x", s))
