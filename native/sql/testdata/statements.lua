-- What statements may be, and what their trouble is called.
local driver = (...).driver
local db = native.sql.open("main")

local function sql(text)
  local n = 0
  return driver == "postgres" and (text:gsub("?", function() n = n + 1 return "$" .. n end)) or text
end
local function fails(code, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "it went through")
  assert(type(err) == "table", tostring(err))
  assert(err.code == code, tostring(err))
  assert(err.key == "main", tostring(err))
  return err
end

db:exec("DROP TABLE IF EXISTS things")
db:exec("CREATE TABLE things (id integer PRIMARY KEY, name varchar(100) UNIQUE)")

assert(db:exec(sql "INSERT INTO things VALUES (?, ?), (?, ?)", 1, "one", 2, "two").affected == 2)
assert(db:exec("UPDATE things SET name = name").affected == 2) -- matched, not changed
assert(db:exec("UPDATE things SET name = 'x' WHERE id = 9").affected == 0)
assert(db:query(sql "SELECT name FROM things WHERE id = ?", 2)[1].name == "two")
assert(#db:query(sql "SELECT * FROM things WHERE name = ? OR id = ?", "one", 2) == 2)

-- Trouble.
local err = fails("sql_unique", db.exec, db, "INSERT INTO things VALUES (1, 'again')")
assert(err.applied == "no" and err.op == "exec" and not err.retryable)
assert(driver == "sqlite" or err.message:find("^SQLSTATE 23"), err.message)
fails("sql_unique", db.exec, db, "INSERT INTO things VALUES (7, 'one')")
err = fails("sql_failed", db.query, db, "SELEC 1")
assert(err.op == "query" and err.applied == "no")
fails("sql_failed", db.query, db, "SELECT * FROM nowhere")
fails("sql_failed", db.exec, db, "INSERT INTO nowhere VALUES (1)")
for _, case in ipairs { { "SELECT ?, ?", "only one" }, { "SELECT ?", 1, 2 }, { "SELECT 1", 1 }, { "SELECT ?" } } do
  fails("sql_failed", db.query, db, sql(case[1]), unpack(case, 2))
  fails("sql_failed", db.exec, db, sql(case[1]), unpack(case, 2))
end
if driver ~= "mysql" then -- numbered ones
  local row = db:query("SELECT $2 || 'x' AS b, $1 || 'y' AS a, $2 || 'z' AS c", "one", "two")[1]
  assert(row.a == "oney" and row.b == "twox" and row.c == "twoz")
  fails("sql_failed", db.query, db, "SELECT $2 || 'x', $1 || 'y'", "one")
  fails("sql_failed", db.query, db, "SELECT $1 || 'x'", "one", "two")
end
assert(db:query(sql "SELECT ? AS a -- ?\n", "x")[1].a == "x" or driver == "postgres")

-- One statement at a time, whatever is in quotes and comments.
fails("sql_failed", db.exec, db, "DELETE FROM things; DELETE FROM things")
fails("sql_failed", db.query, db, "SELECT 1; SELECT 2")
assert(db:query("SELECT ';' AS a -- ; SELECT 2\n")[1].a == ";")
assert(db:query("/* ; */ SELECT 'it''s; two' AS a;")[1].a == "it's; two")
assert(#db:query("SELECT * FROM things") == 2)

-- Transactions aren't made by statements, and there is nothing to copy.
for _, statement in ipairs {
  "BEGIN", "START TRANSACTION", "COMMIT", " /* x */ commit", "-- x\nROLLBACK", "END", "ABORT", "SAVEPOINT a", "RELEASE a",
  "--x\rCOMMIT /*\nSELECT 1 */", "--x\rCOPY things TO STDOUT /*\nSELECT 1 */", "/* /* */ COMMIT -- */ SELECT 1", "PREPARE TRANSACTION 'x'",
  "COPY things FROM STDIN", "COPY things TO STDOUT", "LOAD DATA LOCAL INFILE 'x' INTO TABLE things", "XA START 'a'", "", "  -- only this",
} do
  if statement == "" then
    assert(not pcall(db.exec, db, statement))
  else
    fails("sql_failed", db.exec, db, statement)
    fails("sql_failed", db.query, db, statement)
  end
end

-- Loops only read.
fails("sql_failed", db.each, db, "DELETE FROM things")
if driver == "postgres" then
  fails("sql_failed", db.each, db, "WITH gone AS (DELETE FROM things RETURNING id) SELECT * FROM gone")
end
local names = {}
for row in db:each("SELECT name FROM things ORDER BY id") do names[#names + 1] = row.name end
assert(table.concat(names, " ") == "one two")
for row in db:each("SELECT * FROM things WHERE id = 99") do error("no row is there") end
fails("sql_failed", function() for _ in db:each("SELECT * FROM nowhere") do end end)

-- query takes what changes something and returns rows.
if driver ~= "mysql" then
  assert(db:query("INSERT INTO things VALUES (3, 'three') RETURNING id")[1].id == 3)
  assert(#db:query("SELECT * FROM things") == 3)
end
if driver ~= "postgres" then
  db:exec("DROP TABLE IF EXISTS numbered")
  db:exec("CREATE TABLE numbered (id integer PRIMARY KEY " .. (driver == "mysql" and "AUTO_INCREMENT" or "") .. ", x integer)")
  assert(db:exec("INSERT INTO numbered (x) VALUES (5)").last_id == 1)
  assert(db:exec(sql "INSERT INTO numbered (x) VALUES (?)", 5).last_id == 2)
  assert(db:exec("UPDATE numbered SET x = 6").last_id == nil)
  db:exec("DROP TABLE numbered")
end

-- What an earlier statement has done isn't told of a later one.
if driver ~= "postgres" then
  local ignoring = driver == "sqlite" and "INSERT OR IGNORE" or "INSERT IGNORE"
  local done = db:exec(ignoring .. " INTO things VALUES (1, 'again')")
  assert(done.affected == 0 and done.last_id == nil)
  db:transaction(function(tx)
    assert(tx:exec("INSERT INTO things VALUES (77, 'more')").affected == 1)
    local none = tx:exec(ignoring .. " INTO things VALUES (1, 'again')")
    assert(none.affected == 0 and none.last_id == nil)
    assert(tx:exec("DELETE FROM things WHERE id = 77").affected == 1)
    assert(tx:exec("WITH a AS (SELECT 1 AS x) SELECT x FROM a").affected == 0)
  end)
end

-- Names that nobody has configured.
local ok, missing = pcall(native.sql.open, "mian")
assert(not ok and missing.code == "sql_unavailable" and missing.message:find('did you mean "main"'), tostring(missing))

-- Handles show nothing.
assert(getmetatable(db) == "connection" and not pcall(function() db.query = nil end))
db:exec("DROP TABLE things")
