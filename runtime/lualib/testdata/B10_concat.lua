local t = {}
for i = 1, 3000 do t[i] = "x" end
print(pcall(table.concat, t, ","))
