local function fn() native.test.fail("ran with bad arguments") end
local nan, inf = 0 / 0, 1 / 0

local function refused(func, want, ...)
  local ok, e = pcall(native.lock[func], ...)
  assert(not ok, want)
  assert(type(e) == "string" and e:find(want, 1, true), tostring(e) .. "\nwant " .. want)
end

for _, func in ipairs { "with", "turn" } do
  local at = "' (name: "
  refused(func, "bad argument #1 to '" .. func .. "' (name: got nil, want string)", nil, fn)
  refused(func, at .. "got number, want string)", 42, fn)
  refused(func, at .. "got an empty string, want 1..512 bytes)", "", fn)
  refused(func, at .. "got 513 bytes, want 1..512)", ("n"):rep(513), fn)
  refused(func, at .. "not valid UTF-8)", "\255", fn)
  refused(func, at .. 'begins with "native:", which is reserved)', "native:schedule/nightly", fn)

  refused(func, "bad argument #2 to '" .. func .. "' (options: got string, want table)", "a", "db", fn)
  refused(func, "bad argument #3 to '" .. func .. "' (got no value, want function)", "a", {})
  refused(func, "bad argument #3 to '" .. func .. "' (got table, want function)", "a", {}, {})

  refused(func, '(scope: got "global", want "db" or "local")', "a", { scope = "global" }, fn)
  refused(func, "(scope: got number, want string)", "a", { scope = 1 }, fn)
  for text, value in pairs { ["-1"] = -1, ["0"] = 0, ["0.4"] = 0.4, ["3600001"] = 3600001 } do
    refused(func, "#2 to '" .. func .. "' (lease_ms: got " .. text .. ", want 1..3600000)", "a", { lease_ms = value }, fn)
  end
  refused(func, "(lease_ms: got ", "a", { lease_ms = nan }, fn)
  refused(func, "(lease_ms: got ", "a", { lease_ms = inf }, fn)
  refused(func, "(lease_ms: got string, want number)", "a", { lease_ms = "100" }, fn)
  refused(func, "(lease_ms: got boolean, want number)", "a", { lease_ms = true }, fn)
  refused(func, '(unknown option "leasems", did you mean "lease_ms"?)', "a", { leasems = 100 }, fn)
  refused(func, "(unknown option: a number as key)", "a", { 100 }, fn)
end

refused("with", "(wait_ms: got -1, want 0 or more)", "a", { wait_ms = -1 }, fn)
refused("with", "(wait_ms: got ", "a", { wait_ms = nan }, fn)
refused("with", "(wait_ms: got +Inf, want 0 or more)", "a", { wait_ms = inf }, fn)
refused("with", "(wait_ms: got -Inf, want 0 or more)", "a", { wait_ms = -inf }, fn)
refused("with", "(wait_ms: got string, want number)", "a", { wait_ms = "1" }, fn)
refused("with", 'unknown option "poll_ms"', "a", { poll_ms = 100 }, fn)
refused("turn", 'unknown option "wait_ms"', "a", { wait_ms = 100 }, fn)
refused("turn", "(poll_ms: got 0, want 1..3600000)", "a", { poll_ms = 0 }, fn)

assert(native.test.requests() == 0)
assert(native.lock.with(("ü"):rep(256), { wait_ms = 1e300, lease_ms = 3600000 }, function() return true end))
