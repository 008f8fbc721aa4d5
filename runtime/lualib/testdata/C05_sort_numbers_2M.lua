local t = {}
for i = 1, 2000000 do t[i] = (i * 7919) % 1000003 end
arm(50)
table.sort(t)
