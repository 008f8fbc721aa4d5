local t = {}
for i = 1, 4000000 do t[i] = i end
local c = os.clock()
table.insert(t, 1, 5)
print("one insert(t,1,x) at 4M", os.clock()-c)
c = os.clock()
table.remove(t, 1)
print("one remove(t,1) at 4M", os.clock()-c)
