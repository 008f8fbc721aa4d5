local mt = {__lt=function(a,b) return true end, __le=function(a,b) return true end}
local b = setmetatable({}, mt)
print(pcall(function() return b < 1 end))
print(pcall(function() return b < setmetatable({}, mt) end))
print(pcall(function() return setmetatable({}, {__lt=mt.__lt}) < setmetatable({}, {__lt=function() end}) end))
