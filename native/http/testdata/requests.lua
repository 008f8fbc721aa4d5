local http = native.http
local function echo(method, options, path)
  local r = http[method]("https://api.example.com" .. (path or "/echo"), options)
  assert(r.status == 200, r.status)
  return r:json()
end

-- Methods, body, headers, query.
for _, method in ipairs{ "get", "post", "put", "patch", "delete", "options" } do
  assert(echo(method).method == method:upper())
end
assert(http.head("https://api.example.com/echo").body == "")
assert(http.request{ url = "https://api.example.com/echo", method = "put", body = "x" }:json().method == "PUT")
assert(http.request{ url = "https://api.example.com/echo" }:json().method == "GET")
assert(http.get("HTTPS://API.Example.COM.:443/users/42"):json().name == "Ada")
assert(echo("get").host == "api.example.com")
assert(http.get("https://api.example.com:8443/echo"):json().host == "api.example.com:8443")

local got = echo("post", { body = "\000\255\128\n" })
assert(got.body == "00ff800a" and got.headers["content-type"] == nil)
got = echo("post", { json = { b = 1, a = native.json.list{} } })
assert(got.body == ("7b2261223a5b5d2c2262223a317d") and got.headers["content-type"] == "application/json")
got = echo("post", { json = native.json.null, headers = { ["Content-Type"] = "application/merge-patch+json" } })
assert(got.body == "6e756c6c" and got.headers["content-type"] == "application/merge-patch+json")
got = echo("get", { headers = { ["X-One"] = "1", ["X-Two"] = { "2", "3" }, ["x-num"] = 4, ["user-agent"] = "mine" } }).headers
assert(got["x-one"] == "1" and got["x-two"] == "2|3" and got["x-num"] == "4" and got["user-agent"] == "mine")
assert(echo("get").headers["user-agent"] == "tidelock")
assert(echo("get", { query = { q = "a b&c", n = 3, yes = true, list = { "x", "y" } } }).query == "list=x&list=y&n=3&q=a+b%26c&yes=true")
assert(echo("get", { query = { b = 2 } }, "/echo?a=1#there").query == "a=1&b=2")
assert(echo("get", { query = {} }, "/echo?a=1").query == "a=1")

-- A list may be empty.
got = echo("get", { query = { list = {}, n = 1 }, headers = { ["x-one"] = {} } })
assert(got.query == "n=1" and got.headers["x-one"] == nil)

-- What would end the query, or its line, is escaped; what is escaped already stays so.
assert(echo("get", nil, '/echo?a b HTTP/1.1').query == "a%20b%20HTTP/1.1")
assert(echo("get", nil, '/echo?q=\195\169"<>&r=%20+').query == "q=%C3%A9%22%3C%3E&r=%20+")
assert(echo("get", nil, "/echo/\195\169 b?").path == "/echo/\195\169 b")

-- A HEAD tells of a body that doesn't come, however large.
assert(http.head("https://api.example.com/large?100001").body == "")
assert(http.head("https://api.example.com/export", { stream = true }).body:read_all() == "")

-- A byte order mark is no part of JSON.
assert(http.get("https://api.example.com/mark"):json()[1] == 1)

-- Bytes come back as they are.
assert(http.get("https://api.example.com/bytes").body == "\000\255\128\n")

-- Any status is an answer.
for _, status in ipairs{ 204, 304, 400, 404, 418, 500, 503 } do
  assert(http.get("https://api.example.com/status?" .. status).status == status)
end

-- Two cookies stay two; other headers are joined.
local headers = http.get("https://api.example.com/cookies").headers
assert(#headers["set-cookie"] == 2 and headers["set-cookie"][2] == "b=2, 3")
assert(headers["x-many"] == "one, two")

-- A response is data.
assert(native.json.encode(http.get("https://api.example.com/bytes?").status) == "200")
local ok, err = pcall(function() return http.get("https://api.example.com/status?200"):json() end)
assert(not ok and err.code == "json_syntax")

-- Redirects
assert(http.get("https://api.example.com/to?/users/42"):json().name == "Ada")
assert(http.post("https://api.example.com/to?/echo", { body = "x" }):json().method == "GET")
got = http.post("https://api.example.com/keep?/echo", { body = "x", headers = { Authorization = "t" } }):json()
assert(got.method == "POST" and got.body == "78" and got.headers.authorization == "t")
got = http.get("https://api.example.com/to?https://api.example.com:8443/echo",
  { headers = { Authorization = "t", ["X-Api-Key"] = "k", Cookie = "c", Accept = "text/html" } }):json().headers
assert(not got.authorization and not got["x-api-key"] and not got.cookie and not got.referer and got.accept == "text/html")
-- Back at the first host they are still gone: who redirected there may have chosen what for.
got = http.get("https://api.example.com/to?https://other.example.com:8443/to?https://api.example.com/echo",
  { headers = { ["X-Api-Key"] = "k" } }):json()
assert(got.host == "api.example.com" and not got.headers["x-api-key"])
got = http.get("https://api.example.com/to?https://other.example.com:8443/to?/echo", { headers = { ["X-Api-Key"] = "k" } }):json()
assert(got.host == "other.example.com:8443" and not got.headers["x-api-key"])
local r = http.get("https://api.example.com/to?/users/42", { redirects = 0 })
assert(r.status == 302 and r.headers.location == "/users/42")
ok, err = pcall(http.get, "https://api.example.com/round")
assert(err.code == "net_failed" and err.message == "api.example.com redirects more than 5 times", tostring(err))
