local t = setmetatable({}, {__tostring = tostring})
print(pcall(tostring, t))
