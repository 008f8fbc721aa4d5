local function rows() return native.test.rows() end

-- A yield out of the function is refused, and frees the lock.
local ok, e, inside
local co = coroutine.create(function()
  native.lock.with("a", function()
    ok, inside = pcall(coroutine.yield)
    error(inside, 0)
  end)
end)
ok, e = coroutine.resume(co)
assert(not ok and e == inside and rows() == 0, tostring(e))

-- Coroutines that live inside are free to yield.
local ran, value = native.lock.with("a", function()
  local co = coroutine.create(function() coroutine.yield(1) return 2 end)
  local _, first = coroutine.resume(co)
  local _, second = coroutine.resume(co)
  return first + second
end)
assert(ran and value == 3)

-- A write in doubt keeps the rows of all locks around it,
-- however fn ends.
local function in_doubt() pcall(native.test.write) return "fine" end
ran, value = native.lock.with("outer", { lease_ms = 1000 }, function()
  local ran, value = native.lock.with("inner", { lease_ms = 500 }, in_doubt)
  assert(ran and value == "fine" and rows() == 2)
  assert(native.lock.with("inner", error) == false)
  return value
end)
assert(ran and value == "fine" and rows() == 2)
native.sleep(6000)
assert(native.lock.with("outer", function() end))
assert(native.lock.with("inner", function() end))

ok, e = pcall(native.lock.with, "a", { lease_ms = 100 }, function() pcall(native.test.write) native.sleep(1000) end)
assert(not ok and e == "deadline exceeded" and rows() == 1)
native.sleep(6000)
