-- What comes back is what was stored, in kind and in length.
local db = native.db
local t = db.open("values")

local function roundtrip(v)
  assert(t:put("k", v))
  return (t:get("k"))
end

local function islist(v) return native.json.encode(v):sub(1, 1) == "[" end

-- empty lists and maps, nested and side by side
assert(islist(roundtrip(db.list{})))
assert(not islist(roundtrip({})))
local both = roundtrip({ l = db.list{}, m = {}, deep = { db.list{}, {} } })
assert(islist(both.l) and not islist(both.m))
assert(islist(both.deep[1]) and not islist(both.deep[2]))
-- and once more, read and written back
both = roundtrip(both)
assert(islist(both.l) and not islist(both.m) and islist(both.deep[1]))

-- null is one value, and neither nil nor false
assert(roundtrip(db.null) == db.null and db.null == native.json.null)
local ended = roundtrip({ 1, db.null, db.null })
assert(#ended == 3 and ended[3] == db.null)
assert(roundtrip({ x = db.null }).x ~= nil)

-- numbers
for _, n in ipairs{ 0, -1, 0.1, 2^53, 15947634569000323, 1.23e40, 1e-130, 123456789012345678 } do
  assert(roundtrip(n) == n, n)
end
assert(1 / roundtrip(-0) > 0)

-- strings are bytes
for _, s in ipairs{ "", "\128", "a\0b", "é", ("x"):rep(100000) } do
  assert(roundtrip(s) == s)
end
assert(roundtrip(true) == true and roundtrip(false) == false)

-- false is a value, nothing is nil
assert(t:get("nothing") == nil)
