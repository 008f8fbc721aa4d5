local function refused(want, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "no error")
  assert(tostring(err):find(want, 1, true), tostring(err))
  return err
end
local open, create = native.stream.open, native.stream.create
local s = open("file")

-- Wrong use, in Lua's words.
refused("bad argument #1 to 'open' (name: got no value, want string)", open)
refused("bad argument #1 to 'read' (n: got 0, want 1..1073741824)", s.read, s, 0)
refused("bad argument #1 to 'read' (n: got string, want number)", s.read, s, "*a")
refused("bad argument #1 to 'read' (self: got number, want a stream: call it with a colon)", s.read, 5)
refused("self: got stream, want an output", create("file").write, s, "x")
refused("bad argument #1 to 'read_all' (limit: got -1", s.read_all, s, -1)
refused("unknown option \"limits\", did you mean \"limit\"?", s.lines, s, { limits = 1 })
refused("limit: got 16777217, want 1..16777216", s.json_lines, s, { limit = 2^24 + 1 })
refused("separator: got \"ab\", want one character", s.csv, s, { separator = "ab" })
refused("separator: got \"\\n\", want one character", s.csv, s, { separator = "\n" })
refused("comment: the same as separator", s.csv, s, { comment = "," })
refused("want what lines, json_lines or csv returned", (s:lines()), 1)
refused("bad argument #1 to 'write' (text: got nil, want string)", create("file").write, create("file"), nil)
assert(getmetatable(s) == "stream" and getmetatable(create("file")) == "output")

-- Unknown names.
local err = refused("stream_unknown in open: there is none of this name: the host has named broken, drop, endless, file, ", open, "files")
assert(err.key == "files" and err.retryable == false)
refused("the host has named file, full, orders, people, slow, stuck; tidelock run names one by --output x=FILE", create, "x")
err = refused("stream_failed in open: the stream can't be opened", open, "forbidden")
assert(not tostring(err):find("secret"))

-- A stream that breaks off says so, again and again, and nothing of where it came from.
s = open("broken")
local f, i = s:lines()
assert(f(i) == "first")
err = refused("stream_failed in lines", f, i)
for _, verb in ipairs{ "read", "read_all" } do
  err = refused("stream_failed in " .. verb .. ": the stream broke off", s[verb], s)
  assert(not tostring(err):find("10.0"))
end
s:close()
refused("stream_closed in read: the stream is closed", s.read, s)
err = refused("told_so in read: no more of this", function() open("told"):read() end)
assert(err.retryable == true)

-- In the middle of a record or a text too.
refused("stream_failed", function() open("broken"):read_all() end)
refused("stream_failed", function() open("broken"):read(100) end)
refused("stream_failed", function() for _ in open("broken"):csv() do end end)

-- read_all doesn't cut.
create("file"):write("12345"):close()
assert(open("file"):read_all(5) == "12345")
s = open("file")
err = refused("stream_too_large in read_all: more than 4 bytes are left", s.read_all, s, 4)
refused("stream_too_large in read:", s.read, s)

-- Closed is closed.
s = open("file")
f, i = s:lines()
s:close()
s:close()
refused("stream_closed in lines", f, i)
refused("stream_closed in read_all", s.read_all, s)

local out = create("full")
err = refused("stream_failed in write: the output can't be written", out.write, out, "x")
assert(err.applied == "no" and not tostring(err):find("srv"))
refused("stream_closed in write", out.write, out, "x")
refused("stream_failed in close: the output can't be closed", function() create("full"):close() end)

-- So many at once, and no more.
local many = {}
err = refused("stream_busy", function() while true do many[#many + 1] = open("file") end end)
for _, s in ipairs(many) do s:close() end
for _ = 1, 150 do open("file"):close() end
for _ = 1, 150 do open("file"):read_all() end
