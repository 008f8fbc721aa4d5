-- Listings are ordered by bytes, and complete over their pages.
local t = native.db.open("listing")
assert(#t:list().items == 0 and t:list{}.after == nil)
for i = 1, 12 do t:put(("job/%02d"):format(i), { n = i }, i > 10 and { ttl = 60 } or nil) end
t:put("zebra", "z")

local function keys(page)
  local k = {}
  for i, item in ipairs(page.items) do k[i] = item.key end
  return table.concat(k, " ")
end

local page = t:list{ prefix = "job/", limit = 2 }
assert(keys(page) == "job/01 job/02" and page.after == "job/02")
assert(page.items[1].value.n == 1 and page.items[1].rev == select(2, t:get("job/01")))
page = t:list{ prefix = "job/", after = page.after, limit = 2 }
assert(keys(page) == "job/03 job/04")
assert(keys(t:list{ prefix = "job/", before = "job/03" }) == "job/01 job/02")
assert(keys(t:list{ reverse = true, limit = 2 }) == "zebra job/12")
assert(keys(t:list{ reverse = true, after = "job/03" }) == "job/02 job/01")
assert(t:list{ limit = 13 }.after == nil)
local bare = t:list{ keys = true, limit = 1, stale = true }.items[1]
assert(bare.key == "job/01" and bare.value == nil and bare.rev)

local seen = 0
for key, doc, rev in t:each{ prefix = "job/" } do
  seen = seen + 1
  assert(key == ("job/%02d"):format(seen) and doc.n == seen and rev)
end
assert(seen == 12)
for key in t:each{ limit = 3, keys = true } do seen = seen + 1 end
assert(seen == 15)
for key in t:each{ reverse = true } do
  assert(key == "zebra")
  break
end

-- a loop may change what it walks through
for key in t:each() do t:delete(key) end
assert(#t:list().items == 0)

-- two walks at once
for i = 1, 3 do t:put("k" .. i, i) end
local pairs_seen = {}
for a in t:each() do
  for b in t:each{ reverse = true } do pairs_seen[#pairs_seen + 1] = a .. b end
end
assert(table.concat(pairs_seen, " ") == "k1k3 k1k2 k1k1 k2k3 k2k2 k2k1 k3k3 k3k2 k3k1")

local step = t:each()
assert(not pcall(step) and not pcall(step, t))
