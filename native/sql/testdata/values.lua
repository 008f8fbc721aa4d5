-- Values keep their kind on their way to the database and back.
local driver = (...).driver
local db = native.sql.open("main")

local function sql(text) -- placeholders are numbered in PostgreSQL
  local n = 0
  return driver == "postgres" and (text:gsub("?", function() n = n + 1 return "$" .. n end)) or text
end

local types = {
  postgres = { bytes = "bytea", double = "double precision", moment = "timestamp", decimal = "numeric(30, 10)", boolean = "boolean" },
  mysql = { bytes = "blob", double = "double", moment = "datetime(6)", decimal = "decimal(30, 10)", boolean = "boolean" },
  sqlite = { bytes = "blob", double = "real", moment = "text", decimal = "text", boolean = "boolean" },
}
db:exec("DROP TABLE IF EXISTS kinds")
db:exec(("CREATE TABLE kinds (id bigint, s text, b %s, f %s, t %s, d %s, yes %s, none text)"):format(
  types[driver].bytes, types[driver].double, types[driver].moment, types[driver].decimal, types[driver].boolean))

local function roundtrip(id, s, b, f, t, d, yes, none)
  db:exec("DELETE FROM kinds")
  local done = db:exec(sql "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?)", id, s, b, f, t, d, yes, none)
  assert(done.affected == 1)
  local rows = db:query("SELECT * FROM kinds")
  assert(#rows == 1)
  return rows[1]
end

local text = "Ænglisc \\ ' \" ; -- \t\n % ? $1 \240\159\140\150"
local bytes = "\0\1\255\254\\x41 'quoted'"
local row = roundtrip(42, text, bytes, 0.1, "2024-05-01 12:34:56.789", "12345678901234567890.0123456789", true, nil)
assert(row.id == 42 and type(row.id) == "number")
assert(row.s == text)
assert(row.b == bytes)
assert(row.f == 0.1)
assert(row.t:find("^2024%-05%-01[T ]12:34:56%.789"), row.t)
assert(driver == "sqlite" or row.t:find("T"), row.t)
assert(row.d == "12345678901234567890.0123456789", row.d)
assert(row.yes == (driver == "mysql" and 1 or true))
assert(row.none == native.sql.null)

-- Whole numbers are exact, whatever their size.
row = roundtrip(2 ^ 53, "", "", 1e300, "2024-05-01 00:00:00", "0.5", false, native.sql.null)
assert(row.id == 2 ^ 53 and row.s == "" and row.b == "" and row.f == 1e300 and row.none == native.sql.null)
assert(row.yes == (driver == "mysql" and 0 or false))
row = roundtrip("9007199254740993", "x", "x", -1, "2024-05-01 00:00:00", "1", false, "")
assert(row.id == "9007199254740993" and row.f == -1 and row.none == "")
row = roundtrip(-2 ^ 62, "x", "x", -0.0, "2024-05-01 00:00:00", "1", false, "")
assert(row.id == "-4611686018427387904")

-- An empty result is an empty list.
assert(native.json.encode(db:query("SELECT * FROM kinds WHERE id = 7")) == "[]")
-- Rows without columns of the same name.
local same, err = pcall(db.query, db, "SELECT 1 AS a, 2 AS a")
assert(not same and err.code == "sql_failed" and err.message:find('two columns are named "a"'), err)

-- What is no value is refused by its number.
for _, case in ipairs {
  { {}, "table" }, { print, "function" }, { 0 / 0, "nan" }, { 1 / 0, "finite" },
} do
  local ok, problem = pcall(db.query, db, sql "SELECT ?, ?", 1, case[1])
  assert(not ok and problem:find("bad argument #3 to 'query'") and problem:lower():find(case[2]), problem)
end
for _, case in ipairs {
  { "", "sql" }, { "SELECT '\0'", "zero byte" }, { 7, "sql: got number" },
} do
  local ok, problem = pcall(db.exec, db, case[1])
  assert(not ok and problem:find("bad argument #1 to 'exec'") and problem:find(case[2]), problem)
end
local ok, problem = pcall(db.query)
assert(not ok and problem:find("want a connection or transaction: call it with a colon"), problem)
db:exec("DROP TABLE kinds")
