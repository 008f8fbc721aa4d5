-- What native.lock.with and turn return, and what becomes of the lock.
local function count(...) return select("#", ...), ... end
local seen = {}

seen.results = { count(native.lock.with("a", function() return "x", false, "y" end)) }
seen.turn = { count(native.lock.turn("a", { poll_ms = 50 }, function() return "done" end)) }
seen.nothing = { count(native.lock.turn("a", function() end)) }

local problem = {}
local ok, e = pcall(native.lock.with, "a", function() error(problem) end)
seen.raised = not ok and e == problem
seen.freed = native.lock.with("a", function() end)

native.lock.with("a", function()
  seen.again = native.lock.with("a", { wait_ms = 5000 }, error)
  local ok, e = pcall(native.lock.turn, "a", error)
  seen.reentered = { ok, e.code, e.op, e.key, e.retryable }
  seen.beside = native.lock.with("b", function() return native.lock.with("a", { scope = "local" }, function() end) end)
end)

seen.refused = { pcall(native.lock.with, "a", { lease_ms = 0 }, error) }
return seen
