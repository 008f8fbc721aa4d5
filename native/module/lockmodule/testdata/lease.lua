-- fn is stopped at the end of its lease, whatever it does; the error is a
-- plain string, and ordinary outside.
local function stubborn() while true do pcall(stubborn) end end
local function spin() while true do end end
for _, scope in ipairs { "db", "local" } do
  for _, fn in ipairs { spin, stubborn, function() return pcall(spin) end, function() native.sleep(60000) end } do
    local from = native.time()
    local ok, e = pcall(native.lock.with, "a", { scope = scope, lease_ms = 500 }, fn)
    assert(not ok and e == "deadline exceeded", tostring(e))
    assert(native.time() - from < 0.6, native.time() - from)
    assert(native.test.rows() == 0)
  end
end

-- The lease of with counts from the call, so a wait leaves less of it; that of
-- turn counts from the attempt that acquired the lock.
local function left() return native.deadline.remaining() end
native.test.hold("a", 2000)
local ran, ms = native.lock.with("a", { lease_ms = 10000, wait_ms = 9000 }, left)
assert(ran and ms < 8000, ms)
native.test.hold("a", 2000)
ms = native.lock.turn("a", { lease_ms = 10000 }, left)
assert(ms > 9900 and ms <= 10000, ms)

-- Fractions of a millisecond are cut.
ran, ms = native.lock.with("a", { scope = "local", lease_ms = 1500.7 }, left)
assert(ms == 1500, ms)

-- An enclosing end that comes sooner wins; the lock is freed first.
local ok, e = pcall(native.deadline.with, 300, function()
  local ok, e = pcall(native.lock.with, "a", { lease_ms = 5000 }, spin)
  native.test.fail("ran on after the deadline")
end)
assert(not ok and e == "deadline exceeded" and native.test.rows() == 0)

-- So it does while waiting.
native.test.hold("a", 5000)
ok, e = pcall(native.deadline.with, 300, function()
  native.lock.turn("a", function() native.test.fail("ran though the lock was held") end)
end)
assert(not ok and e == "deadline exceeded")
