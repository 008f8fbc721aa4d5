local function stored(data)
  native.stream.create("file"):write(data):close()
  return native.stream.open("file")
end
local function collect(s, ...)
  local all = {}
  for line in s:lines(...) do all[#all + 1] = line end
  return all
end
local function same(got, want)
  assert(native.json.encode(got) == native.json.encode(want), native.json.encode(got))
end

same(collect(stored("a\nb\n\nc")), { "a", "b", "", "c" })
same(collect(stored("a\r\nb\r\n")), { "a", "b" })
same(collect(stored("a\rb\n\r\n\r\r\n")), { "a\rb", "", "\r" })
assert(#collect(stored("")) == 0)
same(collect(stored("\n")), { "" })

-- A line may be as long as its limit, whatever the buffer holds.
local long = ("x"):rep(100000)
same(collect(stored(long .. "\n" .. long), { limit = 100000 }), { long, long })
for _, ending in ipairs{ "", "\n", "\r\n", "x" } do
  local s = stored("short\n" .. long .. "x" .. ending)
  local ok, err = pcall(collect, s, { limit = 100000 })
  assert(not ok and err.code == "stream_too_large" and err.op == "lines", tostring(err))
  assert(err.message == "line 2 has more than 100000 bytes", err.message)
  -- Nothing can be read behind it.
  ok, err = pcall(s.read, s, 1)
  assert(err.code == "stream_too_large" and err.op == "read")
end

-- JSON
local got = {}
for v in stored('\239\187\191{"a":[]}\r\n\n  \nnull\n"x"\n3'):json_lines() do got[#got + 1] = v end
assert(#got == 4 and native.json.encode(got) == '[{"a":[]},null,"x",3]')

-- A bad line says where, and the next ones can be read.
local s = stored('1\n{"a":\n3\n')
local f, i = s:json_lines()
assert(f(i) == 1)
local ok, err = pcall(f, i)
assert(not ok and err.code == "stream_json" and err.message:find("^line 2: "), tostring(err))
assert(f(i) == 3 and f(i) == nil and f(i) == nil)

ok, err = pcall(function() for _ in stored(("[1,2]\n"):rep(9)):json_lines{ limit = 4 } do end end)
assert(err.code == "stream_too_large")
