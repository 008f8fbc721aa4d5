-- All or nothing, also across partitions.
local db = native.db
local users, orders = db.open("users"), db.open("orders")
local rev = users:put("42", { name = "Ada" })

local revs, failed = db.atomic{
  { "put", users, "42", { name = "Ada", orders = 1 }, { rev = rev } },
  { "put", orders, "1", { user = "42" }, { new = true } },
  { "add", orders, "count", 1 },
  { "check", users, "blocked", { new = true } },
  { "delete", users, "draft" },
}
assert(#revs == 5 and failed == nil)
assert(revs[1] == select(2, users:get("42")) and revs[3] == select(2, orders:get("count")))
assert(revs[4] == false and revs[5] == false)
assert(users:get("42").orders == 1 and orders:get("count") == 1)

revs, failed = db.atomic{
  { "add", orders, "count", 1 },
  { "put", orders, "1", {}, { new = true } },
  { "delete", users, "42", { rev = rev } },
  { "check", users, "nobody", { rev = rev } },
  { "add", orders, "stock", -1, { min = 0 } },
}
assert(revs == nil and failed.index == 2 and failed.key == "1" and failed.current.value.user == "42")
assert(#failed.all == 4 and failed.all[2].index == 3 and failed.all[2].current.value.orders == 1)
assert(failed.all[3].key == "nobody" and failed.all[3].current == nil and failed.all[4].index == 5)
assert(orders:get("count") == 1, "a part was applied")

local function fails(code, text, entries)
  local ok, err = pcall(db.atomic, entries)
  assert(not ok)
  local said = type(err) == "table" and err.message or err
  assert((type(err) == "table" and err.code or "argument") == code and said:find(text, 1, true), tostring(err))
  return err
end
fails("db_too_large", "0 entries, want 1..100", {})
local many = {}
for i = 1, 101 do many[i] = { "put", users, "k" .. i, i } end
fails("db_too_large", "101 entries", many)
fails("db_key", "entry 2", { { "put", users, "k", 1 }, { "delete", users, "k" } })
local err = fails("db_value", "entry 2: value.f: function", { { "put", users, "k", 1 }, { "put", users, "l", { f = print } } })
assert(err.op == "atomic" and err.key == "l")
fails("db_option", 'entry 1: unknown option "revs", did you mean "rev"?', { { "put", users, "k", 1, { revs = "x" } } })
fails("db_option", "check needs rev or new", { { "check", users, "k" } })
fails("db_type", "whole number", { { "add", users, "42", 1 } })
fails("argument", 'entries[1][1]: want "put"', { { "puts", users, "k", 1 } })
fails("argument", "entries[1][2]", { { "put", "users", "k", 1 } })
fails("argument", "entries[1][2]", { { "put", db.null, "k", 1 } })
fails("argument", "entries[1][3]", { { "put", users, 5, 1 } })
fails("argument", "entries[1][4]", { { "add", users, "k", "1" } })
fails("argument", "entries[2]", { { "put", users, "k", 1 }, 5 })
fails("argument", "entries", 5)
assert(users:get("k") == nil)
