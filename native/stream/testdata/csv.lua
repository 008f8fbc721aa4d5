local function stored(data)
  native.stream.create("file"):write(data):close()
  return native.stream.open("file")
end
local function collect(data, options)
  local all = native.json.list()
  for record in stored(data):csv(options) do all[#all + 1] = record end
  return native.json.encode(all)
end
local function fails(code, text, data, options)
  local ok, err = pcall(collect, data, options)
  assert(not ok, "no error")
  assert(err.code == code and err.op == "csv" and err.message == text, tostring(err))
end

assert(collect("a,b\n1,2\n") == '[["a","b"],["1","2"]]')
assert(collect("a,b\n1,2", { header = true }) == '[{"a":"1","b":"2"}]')
assert(collect('\239\187\191a;"b;c"\r\n"x ""y"" ";"1\n2"\r\n', { separator = ";" }) == '[["a","b;c"],["x \\"y\\" ","1\\n2"]]')
assert(collect("a\tb\n\n1\t2\n", { separator = "\t", header = true }) == '[{"a":"1","b":"2"}]')
assert(collect("# no\na\n#1\n2\n", { comment = "#" }) == '[["a"],["2"]]')
assert(collect('a "b" c,d\n', { lazy_quotes = true }) == '[["a \\"b\\" c","d"]]')
assert(collect("a,b\n1\n1,2,3\n", { ragged = true }) == '[["a","b"],["1"],["1","2","3"]]')
assert(collect("a,b\n1\n", { ragged = true, header = true }) == '[{"a":"1"}]')
assert(collect("", {}) == "[]" and collect("a,b\n", { header = true }) == "[]" and collect("\n\n") == "[]")

-- Bytes of fields stay what they are, but for line breaks in quotes.
for record in stored('\255\128,"\000"\n'):csv() do
  assert(record[1] == "\255\128" and record[2] == "\000")
end

fails("stream_csv", "line 3: wrong number of fields", "a,b\n1,2\n1\n", { header = true })
fails("stream_csv", 'line 2, column 2: bare " in non-quoted-field', 'a\nb"c\n')
fails("stream_csv", 'line 2, column 3: extraneous or missing " in quoted-field', 'a\n"b"c\n"d\n')
fails("stream_csv", 'line 4, column 3: extraneous or missing " in quoted-field', 'a\n"b\nc\nd,')
fails("stream_csv", 'the header names "a" twice', "a,b,a\n", { header = true })
fails("stream_csv", "line 2: 3 fields, and the header names 2", "a,b\n1,2,3\n", { header = true, ragged = true })

-- A bad record doesn't end it.
local f, i = stored('1,2\n3\n4,5\n'):csv()
assert(f(i)[2] == "2")
local ok, err = pcall(f, i)
assert(not ok and err.code == "stream_csv")
assert(f(i)[2] == "5" and f(i) == nil)

-- A header that can't be read is no record that can be skipped: the next would name the fields.
for text, why in pairs{ ["a,a\n1,2\n3,4\n"] = "twice", ['a,b"\n1,2\n3,4\n'] = 'bare "' } do
  f, i = stored(text):csv{ header = true }
  for _ = 1, 3 do
    ok, err = pcall(f, i)
    assert(not ok and err.code == "stream_csv" and err.message:find(why, 1, true), tostring(err))
  end
end

-- Lines are those of the stream, whatever has read the ones before.
local s = stored('{"version":2}\na,b\n2,"1\n1"\n{\n3\n{\n4,5\nx"\n[')
local g, j = s:json_lines()
assert(g(j).version == 2)
f, i = s:csv()
assert(f(i)[1] == "a" and f(i)[2] == "1\n1")
ok, err = pcall(g, j)
assert(err.message:find("^line 5: "), err.message)
ok, err = pcall(f, i)
assert(err.message == "line 6: wrong number of fields", err.message)
ok, err = pcall(g, j)
assert(err.code == "stream_json" and err.message:find("^line 7: "), err.message)
assert(f(i)[2] == "5")
ok, err = pcall(f, i)
assert(err.message:find("^line 9, column 2: "), err.message)
ok, err = pcall(g, j)
assert(err.message:find("^line 10: "), err.message)

-- What common programs write, and what they don't.
assert(collect('"a""b","",\n') == '[["a\\"b","",""]]')
assert(collect('a, "b" ,c\n', { lazy_quotes = true }) == '[["a"," \\"b\\" ","c"]]')
assert(collect('"a\r\nb"\r\n') == '[["a\\nb"]]')
assert(collect('a\194\167b\n', { separator = "\194\167" }) == '[["a","b"]]')
for record in stored("a,,c\n1,2,3\n"):csv{ header = true } do assert(record.a == "1" and record[""] == "2" and record.c == "3") end
assert(collect("\239\187\191\"a\",b\n1,2\n", { header = true }) == '[{"a":"1","b":"2"}]')
assert(collect(" a ,b\n") == '[[" a ","b"]]')
assert(collect("a\rb\n") == '[["a\\rb"]]')
fails("stream_csv", "line 2: wrong number of fields", "a,b\n1,2,3\n", { header = true })
fails("stream_csv", 'the header names "" twice', "a,,\n", { header = true })
fails("stream_csv", 'line 1, column 5: extraneous or missing " in quoted-field', '"abc', nil)

-- Records are bounded, also those that are one quote.
fails("stream_too_large", "record 2 has more than 10 bytes", "a,b\n" .. ("x"):rep(9) .. ",y\n", { limit = 10 })
fails("stream_too_large", "record 1 has more than 1048576 bytes", '"' .. ("x\n"):rep(2^20), nil)
ok, err = pcall(function() for _ in native.stream.open("endless"):csv{ limit = 2 * 2^20 } do end end)
assert(not ok and err.code == "stream_too_large", tostring(err))
assert(collect(("x"):rep(100) .. "\n", { limit = 101 }) == '[["' .. ("x"):rep(100) .. '"]]')
