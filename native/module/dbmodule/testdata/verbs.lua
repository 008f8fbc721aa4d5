-- Conditions are results, with what is there.
local t = native.db.open("verbs")

-- put
local first = assert(t:put("k", { n = 1 }, { new = true }))
local rev, current = t:put("k", { n = 2 }, { new = true })
assert(rev == nil and current.value.n == 1 and current.rev == first)
local second = assert(t:put("k", { n = 2 }, { rev = first }))
assert(second ~= first)
rev, current = t:put("k", { n = 3 }, { rev = first })
assert(rev == nil and current.value.n == 2 and current.rev == second)
rev, current = t:put("absent", 1, { rev = first })
assert(rev == nil and current == nil)

-- get
local doc, docrev = t:get("k")
assert(doc.n == 2 and docrev == second)
assert(t:get("k", { stale = true }).n == 2)
local docs, revs = t:get_many{ "k", "absent", "k" }
assert(docs.k.n == 2 and revs.k == second and docs.absent == nil)
docs, revs = t:get_many{}
assert(next(docs) == nil and next(revs) == nil)
docs.k = nil

-- delete
local ok
ok, current = t:delete("k", { rev = first })
assert(ok == false and current.rev == second)
assert(t:delete("k", { rev = second }) == true)
assert(t:delete("k") == true and t:get("k") == nil)
ok, current = t:delete("k", { rev = second })
assert(ok == false and current == nil)

-- add
assert(t:add("n", 5) == 5 and t:add("n", -2) == 3)
local n
n, current = t:add("n", -4, { min = 0 })
assert(n == nil and current.value == 3)
assert(t:add("n", 7, { max = 10 }) == 10 and t:get("n") == 10)
n, current = t:add("fresh", -1, { min = 0 })
assert(n == nil and current == nil)
t:put("text", "5")
ok, n = pcall(t.add, t, "text", 1)
assert(not ok and n.code == "db_type" and n.key == "text" and n.op == "add")
assert(tostring(n):find("db_type in add: ", 1, true))

-- update
local calls = 0
doc, rev = t:update("list", function(old, oldrev)
  calls = calls + 1
  assert(old == nil and oldrev == nil)
  return { "a" }
end)
assert(calls == 1 and doc[1] == "a" and rev == select(2, t:get("list")))
doc = t:update("list", function(old, oldrev)
  assert(oldrev == rev)
  if calls < 3 then
    calls = calls + 1
    rev = t:put("list", { "b", calls }) -- somebody else is faster
  end
  old[#old + 1] = "c"
  return old
end)
assert(#doc == 3 and doc[2] == 3 and doc[3] == "c", native.json.encode(doc))
assert(t:update("list", function() return nil end) == nil)
assert(#t:get("list") == 3)

-- errors of the function are its own
local mine = {}
ok, n = pcall(t.update, t, "list", function() error(mine) end)
assert(not ok and n == mine)
ok, n = pcall(t.update, t, "list", function() return { print } end)
assert(not ok and n.code == "db_value" and n.op == "update")
ok, n = pcall(t.update, t, "busy", function() t:put("busy", 1) return 2 end)
assert(not ok and n.code == "db_contention" and n.retryable, tostring(n))
assert(t:get("busy") == 1)

-- the function may use the database, yield, and be stopped
local co = coroutine.wrap(function()
  return t:update("list", function(old) return { coroutine.yield(#old) } end)
end)
assert(co() == 3 and co("later")[1] == "later")
ok, n = pcall(native.deadline.with, 100, function()
  t:update("list", function() while true do end end)
end)
assert(not ok and n == "deadline exceeded" and t:get("list")[1] == "later")

-- no request is made after the end, whatever the function did
ok, n = pcall(native.deadline.with, 100, function()
  t:update("late", function() pcall(native.sleep, 200) return 1 end)
end)
assert(not ok and n == "deadline exceeded" and t:get("late") == nil)
