-- Coroutines inside of a lock, and yields out of it.
local seen = {}
local co = coroutine.create(function()
  native.lock.with("a", function() coroutine.yield("out") end)
end)
local ok, e = coroutine.resume(co)
seen.yield = { ok, tostring(e):match("[^:]*$") }

seen.inside = { native.lock.with("a", function()
  local co = coroutine.wrap(function() coroutine.yield(1) return 2 end)
  return co() + co()
end) }

-- One that was made outside ends with the lease as well.
local old = coroutine.create(function() while true do end end)
seen.old = { pcall(native.lock.with, "a", { lease_ms = 1000 }, function() coroutine.resume(old) return "went on" end) }

-- Work that outlives the lock may take it later.
local later
native.lock.with("a", function()
  later = coroutine.create(function() return native.lock.with("a", function() end) end)
end)
seen.later = { coroutine.resume(later) }
return seen
