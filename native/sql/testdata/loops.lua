-- Loops, those in each other, those that are left, and what is done inside.
local driver = (...).driver
local db = native.sql.open("main")
local function sql(text)
  local n = 0
  return driver == "postgres" and (text:gsub("?", function() n = n + 1 return "$" .. n end)) or text
end

db:exec("DROP TABLE IF EXISTS numbers")
db:exec("CREATE TABLE numbers (n integer PRIMARY KEY, square integer)")
local values = {}
for i = 1, 1000 do values[i] = ("(%d, 0)"):format(i) end
assert(db:exec("INSERT INTO numbers VALUES " .. table.concat(values, ", ")).affected == 1000)

local sum = 0
for row in db:each("SELECT n FROM numbers") do sum = sum + row.n end
assert(sum == 500500)

-- Inside of a loop other statements have connections of their own. (SQLite's
-- readers keep writers out of the same file.)
if driver ~= "sqlite" then
  for row in db:each("SELECT n FROM numbers WHERE n <= 20") do
    db:exec(sql "UPDATE numbers SET square = ? WHERE n = ?", row.n * row.n, row.n)
  end
  assert(db:query("SELECT sum(square) AS s FROM numbers")[1].s == 2870)
end
local pairs_seen = 0
for a in db:each("SELECT n FROM numbers WHERE n <= 3") do
  for b in db:each(sql "SELECT n FROM numbers WHERE n <= ?", a.n) do
    assert(#db:query("SELECT n FROM numbers WHERE n = 1") == 1)
    pairs_seen = pairs_seen + 1
  end
end
assert(pairs_seen == 6)

-- Loops that were left don't use connections up.
for i = 1, 20 do
  for _ in db:each("SELECT n FROM numbers") do break end
  assert(#db:query("SELECT n FROM numbers WHERE n = 1") == 1)
end

-- An iterator that has been pushed out says so.
local iterators = {}
for i = 1, 4 do
  local step, state = db:each("SELECT n FROM numbers ORDER BY n")
  assert(step(state).n == 1)
  iterators[i] = function() return step(state) end
end
local ok, err = pcall(function() while iterators[1]() do end end)
assert(not ok and err.code == "sql_closed" and err.op == "each", tostring(err))
while iterators[4]() do end
assert(iterators[4]() == nil)

local step = db:each("SELECT n FROM numbers")
for _, state in ipairs { 7, {}, db } do
  assert(not pcall(step, state))
end

-- Rows as a stream of JSON.
local stream = db:stream("SELECT n, 'x' AS s, NULL AS empty FROM numbers ORDER BY n")
local first = true
sum = 0
for row in stream:json_lines() do
  if first then assert(row.n == 1 and row.s == "x" and row.empty == native.sql.null) end
  first, sum = false, sum + row.n
end
assert(sum == 500500)
for i = 1, 10 do -- more than there are connections
  local s = db:stream("SELECT n FROM numbers")
  assert(s:read(3) == '{"n')
  s:close()
end
db:exec("DROP TABLE numbers")
