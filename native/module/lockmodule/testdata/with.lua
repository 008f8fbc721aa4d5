-- Results come back as they are, after true; nils and their number are kept.
local function count(...) return select("#", ...), ... end
local n, ran, a, b, c = count(native.lock.with("a", function() return 1, nil, nil end))
assert(n == 4 and ran == true and a == 1 and b == nil and c == nil)
assert(count(native.lock.with("a", nil, function() end)) == 1)
assert(count(native.lock.with("a", {}, function(...) assert(select("#", ...) == 0) end)) == 1)

-- What isn't taken is refused, so that options behind the function are not lost.
local function refused(text, ...)
  local ok, err = pcall(...)
  assert(not ok and tostring(err):find(text, 1, true), tostring(err))
end
local function nothing() end
refused("bad argument #3 to 'with' (options come before the function: name, options, function)", native.lock.with, "a", nothing, { lease_ms = 5 })
refused("bad argument #3 to 'turn' (options come before the function: name, options, function)", native.lock.turn, "a", nothing, { lease_ms = 5 })
refused("bad argument #3 to 'with' (no value expected: it takes 2)", native.lock.with, "a", nothing, 5)
refused("bad argument #4 to 'with' (no value expected: it takes 3)", native.lock.with, "a", {}, nothing, "not passed on")
assert(native.lock.with("a", {}, nothing, nil, nil))

-- turn returns just what fn returned.
assert(count(native.lock.turn("a", function() end)) == 0)
assert(native.lock.turn("a", { lease_ms = 1000, poll_ms = 50 }, function() return "done" end) == "done")

-- An uncontended lock costs a put and a delete.
local before = native.test.requests()
native.lock.with("a", function()
  assert(native.test.requests() == before + 1)
  assert(native.test.by() == "test testhost 17 with.lua")
end)
assert(native.test.requests() == before + 2)

-- Errors of fn are raised as they are, and free the lock.
local problem = {}
local ok, e = pcall(native.lock.with, "a", function() error(problem) end)
assert(not ok and e == problem and native.test.rows() == 0)
ok, e = pcall(native.lock.with, "a", function() error("text", 0) end)
assert(not ok and e == "text" and native.test.rows() == 0)

-- A lock held elsewhere: false, at once or after the wait, or its turn.
native.test.hold("a", 3000)
local ran, more = native.lock.with("a", function() native.test.fail("ran though the lock was held") end)
assert(ran == false and more == nil)
local from = native.time()
assert(native.lock.with("a", { wait_ms = 1000 }, error) == false)
assert(native.time() - from > 0.9 and native.time() - from < 1.1)
assert(native.lock.turn("a", function() return native.time() - from end) > 1.9)

-- local: no requests, and another lock than the db one of that name.
native.test.hold("a", 1000)
before = native.test.requests()
assert(native.lock.with("a", { scope = "local" }, function() return true end))
assert(native.test.requests() == before)
