-- Bytes come back as they were written, however they are read.
local every = {}
for i = 0, 255 do every[#every + 1] = string.char(i) end
local data = "\000\255\128\n" .. table.concat(every):rep(400) -- more than three buffers

local function stored(...)
  local out = native.stream.create("file")
  for _, piece in ipairs{ ... } do out:write(piece) end
  out:close()
  return native.stream.open("file")
end

assert(stored(data):read_all() == data)
assert(stored("\000\255", "\128\n"):read_all() == "\000\255\128\n")
assert(stored():read_all() == "")

-- read(n) gives n bytes, and fewer only at the end; then nil, as often as asked.
for _, n in ipairs{ 1000, 32768, 99999, 1e6 } do
  local s, pieces = stored(data), {}
  for piece in function() return s:read(n) end do pieces[#pieces + 1] = piece end
  assert(table.concat(pieces) == data)
  for i = 1, #pieces - 1 do assert(#pieces[i] == n) end
  assert(s:read(n) == nil and s:read() == nil and s:read_all() == "")
end
do
  local s = stored("abc")
  assert(s:read(2) == "ab" and s:read(2) == "c" and s:read(2) == nil)
end

-- read() gives what comes, as it comes.
local s = native.stream.open("drop")
assert(s:read() == "1\n" and s:read() == "2\n" and s:read() == "3\n" and s:read() == nil)

-- All ways to read share one place in the stream.
s = stored('one\r\ntwo\n{"n":3}\na,b\n4,5\nrest\000')
local line = s:lines()
assert(s:read(2) == "on")
local f, i = s:lines()
assert(f(i) == "e")
assert(f(i) == "two")
local g, j = s:json_lines()
assert(g(j).n == 3)
local h, k = s:csv{ header = true }
assert(h(k).b == "5")
assert(s:read_all() == "rest\000")

-- write gives the output back.
native.stream.create("file"):write("a"):write("b"):close()
assert(native.stream.open("file"):read_all() == "ab")

-- An option that is nil is not set.
s = stored("abc")
assert(s:read(nil) == "abc" and s:read_all(nil) == "")

-- Long texts arrive whole, however they are written and read.
local long = ("0123456789abcdef"):rep(2^16 + 1) -- 1 MiB and a bit
assert(stored(long):read_all() == long)
assert(stored(long):read(#long + 1) == long)
assert(stored("a\n" .. long .. "\r\nb"):read(2) == "a\n")
local lines = {}
for line in stored("a\n" .. long .. "\r\n" .. long):lines{ limit = 2^21 } do lines[#lines + 1] = line end
assert(#lines == 3 and lines[2] == long and lines[3] == long)
for v in stored('"' .. long .. '"\n'):json_lines{ limit = 2^21 } do assert(v == long) end
for record in stored(long .. ',"' .. long .. '",x\n'):csv{ limit = 2^22 } do
  assert(record[1] == long and record[2] == long and record[3] == "x")
end
for record in stored("x,\"" .. long .. "\"\n"):csv{ limit = 2^22 } do assert(record[1] == "x" and record[2] == long) end
