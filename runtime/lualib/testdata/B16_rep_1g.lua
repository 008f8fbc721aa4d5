local s = string.rep("x", 1500000000)
print(#s)
