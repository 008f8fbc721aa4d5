

-- A function that was suspended under one deadline goes on under another.
local co = coroutine.create(function()
  local handle = native.db.open("suspended")
  return handle:update("k", function() coroutine.yield() return 1 end)
end)
native.deadline.with(100, function() assert(coroutine.resume(co)) end)
native.sleep(1000)
local ok, v = coroutine.resume(co)
assert(ok and v == 1, tostring(v))
