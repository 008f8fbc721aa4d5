local t = {}
for i = 1, 200000 do t[i] = {} end
local c = os.clock()
for i = 1, 20 do collectgarbage("count") end
print("collectgarbage avg s", (os.clock() - c)/20, collectgarbage("count"))
