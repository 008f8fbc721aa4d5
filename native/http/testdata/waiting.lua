local http = native.http
local function took(f, ...)
  local before = native.time()
  local ok, err = pcall(f, ...)
  assert(not ok)
  return math.floor((native.time() - before) * 1000 + 0.5), err
end

-- A timeout of one's own.
local ms, err = took(http.get, "https://api.example.com/slow", { timeout_ms = 1500 })
assert(ms == 1500 and err.code == "net_timeout" and err.retryable == true and err.applied == nil)
assert(err.message == "api.example.com took longer than 1500 ms", err.message)
ms, err = took(http.get, "https://api.example.com/slow")
assert(ms == 30000 and err.code == "net_timeout")

-- It covers the body, too.
ms, err = took(http.get, "https://api.example.com/events", { timeout_ms = 2500 })
assert(ms == 2500 and err.code == "net_timeout")

-- A write without an answer is unknown.
ms, err = took(http.post, "https://api.example.com/slow", { timeout_ms = 100 })
assert(err.code == "net_timeout" and err.applied == "unknown" and err.retryable == false)

-- A stream comes as it comes, and its timeout is that of its header.
local before, seen = native.time(), {}
local body = http.get("https://api.example.com/events", { stream = true, timeout_ms = 1500 }).body
for v in body:json_lines() do
  seen[#seen + 1] = v.n
  assert(math.floor(native.time() - before + 0.5) == v.n - 1)
end
assert(#seen == 5)

-- Deadlines and leases end the wait, and what doesn't change anything leaves the lock free.
ms, err = took(native.deadline.with, 700, function() http.get("https://api.example.com/slow") end)
assert(ms == 700 and err == "deadline exceeded")
ms, err = took(native.lock.with, "a", { lease_ms = 800 }, function() http.get("https://api.example.com/events") end)
assert(ms == 800 and err == "deadline exceeded")
assert(native.lock.with("a", function() end))
local stream = http.get("https://api.example.com/events", { stream = true }).body
ms, err = took(native.lock.with, "a", { lease_ms = 900 }, function() stream:read_all() end)
assert(ms == 900 and err == "deadline exceeded")
ms, err = took(stream.read, stream)
assert(err.code == "stream_closed")
assert(native.lock.with("a", function() end))

-- A write in flight keeps it until the row has run out.
took(native.lock.with, "a", { lease_ms = 800 }, function() http.post("https://api.example.com/slow") end)
assert(native.lock.with("a", function() end) == false)
assert(native.lock.with("a", { wait_ms = 5000 }, function() end))
