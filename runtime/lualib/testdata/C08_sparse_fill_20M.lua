local t = {}
arm(50)
t[20000000] = 1
