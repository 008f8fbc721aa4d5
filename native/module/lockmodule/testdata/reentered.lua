-- A run that tries to acquire what it holds gets an answer at once, without a request.
for _, scope in ipairs { "db", "local" } do
  local opts = { scope = scope }
  local waits = { scope = scope, wait_ms = 5000 }
  local function again()
    local before, from = native.test.requests(), native.time()
    assert(native.lock.with("a", waits, error) == false)
    local ok, e = pcall(native.lock.turn, "a", opts, error)
    assert(not ok and e.code == "lock_reentered" and e.retryable == false and e.key == "a", tostring(e))
    assert(native.test.requests() == before and native.time() - from < 0.1)
    return "told"
  end
  assert(native.lock.with("a", opts, function()
    assert(again() == "told")
    local ok, result = coroutine.resume(coroutine.create(again))
    assert(ok and result == "told", result)
    assert(setmetatable({}, { __index = again }).field == "told")
    assert(native.lock.with("b", opts, again))
  end))
  -- Work that outlives the lock may take it later.
  local later
  native.lock.with("a", opts, function() later = coroutine.create(function() return (native.lock.with("a", opts, function() end)) end) end)
  local ok, ran = coroutine.resume(later)
  assert(ok and ran == true)
end
