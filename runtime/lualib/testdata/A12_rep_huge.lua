print(pcall(string.rep, "x", 2^50))
print(pcall(string.rep, "x", 1e14))
