-- Kinds of values that are rare, rows of unusual shape, and handles that are
-- used in unusual ways.
local driver = (...).driver
local db = native.sql.open("main")

local kinds = {
  postgres = {
    { "'NaN'::numeric", "NaN" }, { "1.10::numeric", "1.10" }, { "12345678901234567890123::numeric", "12345678901234567890123" },
    { "'Infinity'::float8", 1 / 0 }, { "'-Infinity'::float4", -1 / 0 }, { "0.1::float4", 0.1 }, { "9007199254740993", "9007199254740993" },
    { "(-9223372036854775807)::int8", "-9223372036854775807" }, { "'infinity'::timestamptz", "infinity" }, { "'-infinity'::date", "-infinity" },
    { "'2024-05-01 12:00:00+05'::timestamptz", "2024-05-01T07:00:00Z" }, { "'2024-05-01 12:00:00.5'::timestamp", "2024-05-01T12:00:00.5" },
    { "'2024-01-01 BC'::timestamptz", "2024-01-01 00:00:00+00 BC" }, { "'10000-01-01'::timestamp", "10000-01-01 00:00:00" },
    { "'12:00'::time", "12:00:00" }, { "'1 day'::interval", "1 day" }, { "ARRAY[1, NULL, 3]", "{1,NULL,3}" }, { "'{\"a\": [1]}'::jsonb", '{"a": [1]}' },
    { "'\\x00ff'::bytea", "\0\255" }, { "''::bytea", "" }, { "'101'::bit(3)", "101" }, { "true", true }, { "'f'::boolean", false },
    { "'00000000-0000-0000-0000-000000000001'::uuid", "00000000-0000-0000-0000-000000000001" }, { "4294967295::oid", 4294967295 },
  },
  mysql = {
    { "18446744073709551615", "18446744073709551615" }, { "-9007199254740993", "-9007199254740993" }, { "1.10", "1.10" },
    { "CAST(99999999999999999999 AS DECIMAL(30,0))", "99999999999999999999" }, { "CAST(7 AS DECIMAL(30,0))", 7 }, { "1e0", 1 },
    { "CAST(0.1 AS FLOAT)", 0.1 }, { "TIMESTAMP '2024-05-01 12:00:00.5'", "2024-05-01T12:00:00.5" }, { "DATE '2024-05-01'", "2024-05-01" },
    { "TIME '-12:00:00'", "-12:00:00" }, { "X'00ff'", "\0\255" }, { "''", "" }, { "JSON_OBJECT('a', 1)", '{"a": 1}' }, { "TRUE", 1 }, { "1/0", native.sql.null },
  },
  sqlite = {
    { "9e999", 1 / 0 }, { "-9e999", -1 / 0 }, { "9223372036854775807", "9223372036854775807" }, { "1.5", 1.5 }, { "x'00ff'", "\0\255" }, { "x''", "" },
    { "''", "" }, { "1 = 1", 1 }, { "json('[1]')", "[1]" }, { "NULL", native.sql.null },
  },
}
for _, kind in ipairs(kinds[driver]) do
  local text, want = "SELECT " .. kind[1] .. " AS v", kind[2]
  local got = db:query(text)[1].v
  assert(got == want, ("%s: got %s, want %s"):format(kind[1], tostring(got), tostring(want)))
  for row in db:each(text) do assert(row.v == want, kind[1]) end
end
if driver == "postgres" then
  local nan = db:query("SELECT 'NaN'::float8 AS v")[1].v
  assert(nan ~= nan)

  -- Rows without columns are rows all the same.
  assert(#db:query("SELECT FROM generate_series(1, 300)") == 300)
  local n = 0
  for row in db:each("SELECT FROM generate_series(1, 300)") do
    assert(next(row) == nil)
    n = n + 1
  end
  assert(n == 300)
end

-- Many columns.
local columns = {}
for i = 1, 1600 do columns[i] = i .. " AS c" .. i end
local sum = 0
for row in db:each("SELECT " .. table.concat(columns, ", ") .. " UNION ALL SELECT " .. table.concat(columns, ", ")) do sum = sum + row.c1600 end
assert(sum == 3200)

-- Strings that are no text are refused, or come back as they were.
if driver == "postgres" then
  for _, bad in ipairs { "\255\254", "a\0b" } do
    local ok, err = pcall(db.query, db, "SELECT $1::text AS v", bad)
    assert(not ok and err.code == "sql_failed" and err.applied == "no", tostring(err))
  end
end

-- A row stays what it was when the next ones have come.
local rows = {}
local series = {
  postgres = "SELECT n, 'text ' || n AS s FROM generate_series(1, 500) AS n",
  mysql = "SELECT seq AS n, CONCAT('text ', seq) AS s FROM seq_1_to_500",
  sqlite = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500) SELECT n, 'text ' || n AS s FROM c",
}
for row in db:each(series[driver]) do rows[#rows + 1] = row end
for i, row in ipairs(rows) do assert(row.n == i and row.s == "text " .. i) end
assert(#rows == 500)

-- Handles cost nothing, and a loop may go on in another coroutine.
for _ = 1, 1000 do assert(native.sql.open("main"):query("SELECT 1 AS a")[1].a == 1) end
local step, state = db:each(series[driver])
for i = 1, 500 do
  local row = coroutine.wrap(function() return step(state) end)()
  assert(row.n == i)
end
assert(coroutine.wrap(function() return step(state) end)() == nil)

-- Loops that coroutines have been left in give way.
local waiting = {}
for i = 1, 10 do
  waiting[i] = coroutine.wrap(function() for row in db:each(series[driver]) do coroutine.yield(row.n) end end)
  assert(waiting[i]() == 1)
end
assert(db:query("SELECT 1 AS a")[1].a == 1)

-- A long statement is sent whole; one that is too long isn't sent.
local long = ("x"):rep(500000)
assert(#db:query("SELECT '" .. long .. "' AS s")[1].s == #long)
local ok, err = pcall(db.query, db, "SELECT '" .. ("x"):rep(2 ^ 20) .. "' AS s")
assert(not ok and err:find("bad argument #1 to 'query'"), tostring(err))
