-- fn is stopped at the end of its lease, whatever it does.
local function spin() while true do end end
local function stubborn() while true do pcall(spin) end end
local entries = native.db.open("entries")
local function read() while true do entries:get("key") end end

local seen = {}
for name, fn in pairs { spin = spin, stubborn = stubborn, read = read, sleep = function() native.sleep(60000) end } do
  local from = native.time()
  local ok, e = pcall(native.lock.with, "a", { lease_ms = 1000 }, fn)
  local took = native.time() - from
  seen[name] = { ok, e, took > 0.99 and took < 4 or took }
end

-- The lock is free again, and an enclosing end that comes sooner wins.
seen.free = native.lock.with("a", function() end)
seen.deadline = { pcall(native.deadline.with, 500, function() native.lock.with("a", spin) end) }
seen.after = native.lock.turn("a", function() return "mine" end)
return seen
