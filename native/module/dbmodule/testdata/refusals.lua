-- What can't be stored is refused with its path, before any request.
local t = native.db.open("refusals")

local function refused(code, text, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok, text)
  assert(type(err) == "table" and err.code == code, tostring(err))
  assert(err.message:find(text, 1, true), err.message)
  assert(err.applied == "no" and not err.retryable)
  return err
end
local function put(v) return t:put("k", v) end

local self = {}
self.self = self
local holed = { 1, 2, 3 }
holed[2] = nil
for _, case in ipairs{
  { "value.items[3].cb: function", { items = { 1, 2, { cb = print } } } },
  { "value[1][2]", { { 1, print } } },
  { "value", coroutine.create(print) },
  { "value.p: userdata", { p = t } },
  { "value", { 1, nil, 3 } },
  { "value", { "foo", nil, "bar" } },
  { "value", holed },
  { "value", { [1] = true, [1000000] = true } },
  { "value", { [4000] = "x" } },
  { "value", { [1] = "a", ["1"] = "b" } },
  { "value", { [1.5] = 1 } },
  { "value", { [true] = 1 } },
  { "value.n", { n = 0 / 0 } },
  { "value[2]", { 1, 1 / 0 } },
  { "value: number 1e+300", 1e300 },
  { "value: number 5e-324", 5e-324 },
  { "value", { ["\128"] = 1 } },
  { "value", { [""] = 1 } },
  { "more than 31", self },
} do
  refused("db_value", case[1], put, case[2])
end
assert(refused("db_value", "value: nil", put, nil).op == "put")
refused("db_too_large", "want at most 389120", put, ("x"):rep(400000))

for _, key in ipairs{ "", "\128", ("k"):rep(513), "\244\143\191\191" } do
  refused("db_key", "key", t.get, t, key)
  refused("db_key", "key", t.put, t, key, 1)
  refused("db_key", "key", t.delete, t, key)
  refused("db_key", "key", t.add, t, key, 1)
  refused("db_key", "key", t.get_many, t, { "fine", key })
  refused("db_key", "key", t.update, t, key, function() return 1 end)
end
for _, name in ipairs{ "", "!locks", "a/b", "_a", ("a"):rep(65) } do
  refused("db_key", "partition name", native.db.open, name)
end

refused("db_option", 'unknown option "tll", did you mean "ttl"?', t.put, t, "k", 1, { tll = 5 })
refused("db_option", 'unknown option "version", known are', t.put, t, "k", 1, { version = 5 })
refused("db_option", "ttl", t.put, t, "k", 1, { ttl = 0 })
refused("db_option", "ttl", t.put, t, "k", 1, { ttl = -1 })
refused("db_option", "ttl", t.put, t, "k", 1, { ttl = 11 * 365 * 86400 })
refused("db_option", "ttl: got string, want number", t.put, t, "k", 1, { ttl = "5" })
refused("db_option", "rev: got number, want string", t.put, t, "k", 1, { rev = 5 })
refused("db_option", "exclude each other", t.put, t, "k", 1, { rev = "r", new = true })
refused("db_option", 'unknown option "new"', t.delete, t, "k", { new = true })
refused("db_option", "min: got 0.5", t.add, t, "k", 1, { min = 0.5 })
refused("db_option", "min 5 is over max 1", t.add, t, "k", 1, { min = 5, max = 1 })
refused("db_value", "to add", t.add, t, "k", 0.5)
for _, limit in ipairs{ 0, -1, 1001, 1.5, 0 / 0 } do
  if limit == limit then refused("db_option", "limit", t.list, t, { limit = limit }) end
end
refused("db_option", 'unknown option "revers", did you mean "reverse"?', t.each, t, { revers = true })

-- wrong kinds of arguments are Lua's argument errors
local function argument(text, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok and type(err) == "string" and err:find(text, 1, true), tostring(err))
end
argument("bad argument #1 to 'get' (key: got number, want string)", t.get, t, 5)
argument("call it with a colon", t.get, "k")
argument("bad argument #2 to 'add' (n: got string, want number)", t.add, t, "k", "1")
argument("bad argument #2 to 'update'", t.update, t, "k", 5)
argument("bad argument #3 to 'put' (options: got string, want table)", t.put, t, "k", 1, "new")
argument("bad argument #1 to 'get_many'", t.get_many, t, "k")
argument("bad argument #1 to 'get_many' (keys[2]: got number, want string)", t.get_many, t, { "k", 5 })
argument("bad argument #1 to 'get_many'", t.get_many, t, { a = "k" })

-- a handle shows nothing of its insides
assert(getmetatable(t) == "partition" and not pcall(setmetatable, t, {}))
assert(not pcall(function() t.get = print end))
assert(t:get("k") == nil, "something was stored")
