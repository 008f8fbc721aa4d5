-- A transaction happens as a whole or not at all.
local driver = (...).driver
local db = native.sql.open("main")

local function count() return db:query("SELECT count(*) AS n FROM accounts")[1].n end
db:exec("DROP TABLE IF EXISTS accounts")
db:exec("CREATE TABLE accounts (id integer PRIMARY KEY, x integer)" .. (driver == "mysql" and " ENGINE=InnoDB" or ""))

-- It returns what its function returned.
local a, b, c = db:transaction(function(tx, ...)
  assert(select("#", ...) == 0)
  assert(tx:exec("INSERT INTO accounts VALUES (1, 10), (2, 20)").affected == 2)
  assert(tx:query("SELECT x FROM accounts WHERE id = 2")[1].x == 20)
  local sum = 0
  for row in tx:each("SELECT x FROM accounts") do sum = sum + row.x end
  assert(sum == 30)
  return 1, nil, "three"
end)
assert(a == 1 and b == nil and c == "three")
assert(count() == 2)

-- An error undoes it and arrives as it is.
local problem = { mine = true }
local ok, err = pcall(db.transaction, db, function(tx)
  tx:exec("DELETE FROM accounts")
  error(problem)
end)
assert(not ok and err == problem and count() == 2)

-- So does an error of a statement that nobody catches.
ok, err = pcall(db.transaction, db, function(tx)
  tx:exec("DELETE FROM accounts")
  tx:exec("INSERT INTO nowhere VALUES (1)")
end)
assert(not ok and err.code == "sql_failed" and count() == 2)

-- PostgreSQL gives a transaction up at the first error, and says so at the end.
ok, err = pcall(db.transaction, db, function(tx)
  tx:exec("INSERT INTO accounts VALUES (3, 30)")
  pcall(tx.exec, tx, "INSERT INTO accounts VALUES (3, 30)")
end)
if driver == "postgres" then
  assert(not ok and err.code == "sql_failed" and err.applied == "no" and err.op == "transaction", tostring(err))
  assert(count() == 2)
else
  assert(ok and count() == 3)
  db:exec("DELETE FROM accounts WHERE id = 3")
end

-- Parts of it can be undone.
db:transaction(function(tx)
  tx:exec("SAVEPOINT here")
  tx:exec("DELETE FROM accounts")
  tx:exec("ROLLBACK TO SAVEPOINT here")
  tx:exec("RELEASE SAVEPOINT here")
end)
assert(count() == 2)

-- It can't be ended, nested or used later.
local later
ok, err = pcall(db.transaction, db, function(tx)
  later = tx
  for _, statement in ipairs { "COMMIT", "ROLLBACK", "BEGIN" } do
    local ended, why = pcall(tx.exec, tx, statement)
    assert(not ended and why.code == "sql_failed", tostring(why))
  end
  assert(tx.transaction == nil and tx.stream == nil)
  local nested, why = pcall(db.transaction, db, function() end)
  assert(not nested and why.code == "sql_failed" and why.message:find("can't have another one inside"), tostring(why))
  tx:exec("DELETE FROM accounts")
  error("enough")
end)
assert(not ok and tostring(err):find("enough"))
ok, err = pcall(later.query, later, "SELECT 1")
assert(not ok and err.code == "sql_closed", tostring(err))
assert(count() == 2)

-- What is used again ends the loop over it.
db:transaction(function(tx)
  local seen = 0
  ok, err = pcall(function()
    for row in tx:each("SELECT id FROM accounts") do
      seen = seen + 1
      tx:exec("UPDATE accounts SET x = x + 1")
    end
  end)
  assert(not ok and err.code == "sql_closed" and seen == 1, tostring(err))
  for _ in tx:each("SELECT id FROM accounts") do break end
  tx:exec("UPDATE accounts SET x = x + 1")
end)
assert(db:query("SELECT sum(x) AS n FROM accounts")[1].n == 34)

-- A coroutine inside may yield, but not out of it.
db:transaction(function(tx)
  local co = coroutine.wrap(function()
    for row in tx:each("SELECT id FROM accounts ORDER BY id") do coroutine.yield(row.id) end
  end)
  assert(co() == 1 and co() == 2 and co() == nil)
end)
local co = coroutine.create(function()
  db:transaction(function(tx)
    tx:exec("DELETE FROM accounts")
    coroutine.yield()
  end)
end)
local resumed, why = coroutine.resume(co)
assert(not resumed and tostring(why):find("attempt to yield"), tostring(why))
assert(count() == 2)

for _, fn in ipairs { 7, "x", {} } do
  ok, err = pcall(db.transaction, db, fn)
  assert(not ok and err:find("bad argument #1 to 'transaction'"), err)
end
db:exec("DROP TABLE accounts")
