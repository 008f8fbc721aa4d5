local http = native.http
local function refused(want, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "no error")
  assert(tostring(err):find(want, 1, true), tostring(err))
  return err
end
local url = "https://api.example.com/echo"

-- Wrong use, in Lua's words.
refused("bad argument #1 to 'get' (url: got no value, want string)", http.get)
refused("bad argument #2 to 'get' (unknown option \"header\", did you mean \"headers\"?)", http.get, url, { header = {} })
refused("bad argument #1 to 'request' (method: got \"CONNECT\", want one of GET, HEAD", http.request, { url = url, method = "connect" })
refused("timeout_ms: got 0, want 1..3600000", http.get, url, { timeout_ms = 0 })
refused("redirects: got 6, want 0..5", http.get, url, { redirects = 6 })
refused("body: not together with json", http.post, url, { body = "", json = 1 })
refused("body: a GET has none", http.get, url, { body = "x" })
refused("headers: host can't be set", http.get, url, { headers = { Host = "x" } })
refused("headers: transfer-encoding can't be set", http.get, url, { headers = { ["Transfer-Encoding"] = "x" } })
refused("headers: the value of x has a control character", http.get, url, { headers = { x = "a\r\nb: c" } })
refused("headers: \"a b\" is no name", http.get, url, { headers = { ["a b"] = "x" } })
refused("headers: more than 32768 bytes", http.get, url, { headers = { a = ("x"):rep(2^15) } })
refused("headers: more than 100 values", http.get, url, { headers = { a = (function() local t = {} for i = 1, 101 do t[i] = i end return t end)() } })
refused("headers: want a table by name", http.get, url, { headers = { "a" } })
refused("query.a: want a string", http.get, url, { query = { a = native.json.null } })
refused("json_value in post: json.f: function", http.post, url, { json = { f = print } })
refused("self: got no value, want a response: call it with a colon", function() http.get(url).json() end)

-- What is no URL.
for text, why in pairs{
  [""] = "begins with https://", ["api.example.com"] = "begins with https://", ["ftp://api.example.com/"] = "begins with https://",
  ["file:///etc/passwd"] = "begins with", ["https:api.example.com"] = "want a host", ["https:///x"] = "want a host",
  ["https://a b/"] = "not a URL", ["https://api.example.com:0/"] = "port", ["https://api.example.com:99999/"] = "port",
  ["https://me:pw@api.example.com/"] = "user name or password", ["https://a..b/"] = "isn't a name",
  ["https://\255.example.com/"] = "not valid UTF-8", ["https://api.example.com/\n"] = "not a URL",
} do
  local err = refused("net_url in get: ", http.get, text)
  assert(err.message:find(why, 1, true), text .. ": " .. err.message)
end
assert(refused("net_url", http.get, "https://api.example.com/" .. ("x"):rep(8192)).message:find("8192"))

-- What isn't on the list.
local err = refused("net_blocked in post: example.com is not on the list of what may be reached: add it to http.allow in the configuration, "
  .. "or on the command line by --allow-net example.com", http.post, "https://example.com/")
assert(err.applied == "no" and err.retryable == false and err.key == "example.com")
for _, text in ipairs{
  "https://api.example.com:444/", "http://api.example.com:443/", "https://evilapi.example.com/", "https://example.com:8443/",
  "https://api.example.com.evil.org/", "https://api.example.org/",
} do
  refused("net_blocked", http.get, text)
end
refused("net_blocked in get: api.example.com redirects to what may not be reached", http.get, "https://api.example.com/to?https://evil.org/")
refused("net_blocked", http.get, "https://api.example.com/to?ftp://api.example.com/")
refused("net_blocked", http.get, "https://api.example.com/to?https://a:b@api.example.com/")

-- Limits
assert(#http.get("https://api.example.com/large?100000").body == 100000)
refused("net_too_large in get: the body of api.example.com has more than 100000 bytes", http.get, "https://api.example.com/large?100001")
err = refused("net_too_large in post: a body of 100001 bytes, want at most 100000", http.post, url, { body = ("x"):rep(100001) })
assert(err.applied == "no")

-- So many at once, and no more; streams count until they are closed.
local streams = {}
for i = 1, 3 do streams[i] = http.get("https://api.example.com/events", { stream = true }).body end
err = refused("net_busy in get: 3 requests are under way, which is the most", http.get, url)
assert(err.retryable == true)
streams[1]:close()
assert(http.get(url).status == 200)
streams[2]:read_all()
assert(http.get(url).status == 200)
