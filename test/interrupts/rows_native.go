package main

// coreRows are the functions of native itself, native.deadline and native.log.
var coreRows = []row{
	{name: "native.sleep", call: `native.sleep(60000)`, lead: forever},
	{name: "native.sleep", call: `native.sleep(0)`},
	{name: "native.time", call: `native.time()`},
	{name: "native.deadline.with", call: `native.deadline.with(60000, spin)`, lead: forever},
	{name: "native.deadline.with", call: `native.deadline.with(60000, none)`},
	{name: "native.deadline.remaining", call: `native.deadline.remaining()`},
	{name: "native.log.debug", call: `native.log.debug("x")`},
	{name: "native.log.info", call: `native.log.info("x", { n = 1 })`},
	{name: "native.log.warn", call: `native.log.warn("x")`},
	{name: "native.log.error", setup: `local fields = {} for i = 1, 2e5 do fields["k" .. i] = "x" end`,
		call: `native.log.error("x", fields)`, display: "native.log.error with 200,000 fields", lead: 1},
}

// jsonRows are native.json, and what null and error values do.
var jsonRows = []row{
	{name: "native.json.decode", call: `native.json.decode("[1]")`},
	{name: "native.json.decode", setup: `local s = "[" .. ("[1,{\"a\":null}],"):rep(2e5) .. "1]"`, call: `native.json.decode(s)`, display: "native.json.decode of 200,000 lists", lead: 1},
	{name: "native.json.decode", setup: `local s = '"' .. ("\\n"):rep(8e6 - 1) .. '"'`, call: `native.json.decode(s)`, display: "native.json.decode of one string, 16 MB of escapes", lead: 1},
	{name: "native.json.encode", call: `native.json.encode({ 1 })`},
	{name: "native.json.encode", setup: `local t = {} for i = 1, 2e5 do t[i] = { i, a = nil } end`, call: `native.json.encode(t)`, display: "native.json.encode of 200,000 lists", lead: 1},
	{name: "native.json.encode", setup: `local t = {} for i = 1, 2e5 do t["k" .. i] = i end`, call: `native.json.encode(t)`, display: "native.json.encode of 200,000 fields", lead: 1},
	{name: "native.json.encode", setup: `local s = ("\1"):rep(2.7e6)`, call: `native.json.encode(s)`, display: "native.json.encode of one string, 16 MB as text", lead: 1},
	{name: "native.json.encode", setup: `local s = ("\1"):rep(16e6)`, call: `pcall(native.json.encode, s)`, display: "native.json.encode of one string that is too long as text", lead: 1},
	{name: "native.json.list", call: `native.json.list({})`},
	{name: "null:__tostring", call: `tostring(native.json.null)`},
	{name: "error:__tostring", setup: `local _, e = pcall(native.json.decode, "")`, call: `tostring(e)`},
	{name: "error:__concat", setup: `local _, e = pcall(native.json.decode, "")`, call: `local _ = e .. "x"`},
}

// lockRows are native.lock. Another process holds the lock "held" forever, and
// the table does not answer requests about "silent".
var lockRows = []row{
	{name: "native.lock.with", call: `native.lock.with("free", none)`},
	{name: "native.lock.with", call: `native.lock.with("free", { scope = "local" }, none)`},
	{name: "native.lock.with", call: `native.lock.with("free", spin)`, lead: forever},
	{name: "native.lock.with", call: `native.lock.with("free", { scope = "local" }, spin)`, lead: forever},
	{name: "native.lock.with", call: `native.lock.with("held", { wait_ms = 20000 }, none)`, lead: forever},
	{name: "native.lock.with", call: `native.lock.with("silent", none)`, lead: forever},
	{name: "native.lock.turn", call: `native.lock.turn("free", none)`},
	{name: "native.lock.turn", call: `native.lock.turn("free", spin)`, lead: forever},
	{name: "native.lock.turn", call: `native.lock.turn("held", none)`, lead: forever},
	{name: "native.lock.turn", call: `native.lock.turn("silent", none)`, lead: forever},
}

// dbRows are native.db: each verb on a table that answers, and on one that does
// not.
var dbRows = []row{
	{name: "native.db.open", call: `native.db.open("p")`},
	{name: "native.db.list", call: `native.db.list({})`},
	{name: "native.db.atomic", setup: open, call: `native.db.atomic({ { "put", p, "k", 1 }, { "add", p, "n", 1 } })`},
	{name: "native.db.atomic", setup: silent, call: `native.db.atomic({ { "put", p, "k", 1 } })`, display: "native.db.atomic, no answer", lead: forever},
	{name: "partition:get", setup: open, call: `p:get("k")`},
	{name: "partition:get", setup: silent, call: `p:get("k")`, display: "p:get, no answer", lead: forever},
	{name: "partition:get_many", setup: open, call: `p:get_many({ "k", "n" })`},
	{name: "partition:get_many", setup: silent, call: `p:get_many({ "k" })`, display: "p:get_many, no answer", lead: forever},
	{name: "partition:put", setup: open, call: `p:put("k", { 1 })`},
	{name: "partition:put", setup: silent, call: `p:put("k", 1)`, display: "p:put, no answer", lead: forever},
	{name: "partition:put", setup: open + ` local t = {} for i = 1, 15000 do t[i] = i end`, call: `p:put("large", t)`, display: "p:put of 15,000 numbers"},
	{name: "partition:delete", setup: open, call: `p:delete("none")`},
	{name: "partition:delete", setup: silent, call: `p:delete("k")`, display: "p:delete, no answer", lead: forever},
	{name: "partition:add", setup: open, call: `p:add("n", 1)`},
	{name: "partition:add", setup: silent, call: `p:add("n", 1)`, display: "p:add, no answer", lead: forever},
	{name: "partition:update", setup: open, call: `p:update("u", function(n) return (n or 0) + 1 end)`},
	{name: "partition:update", setup: open, call: `p:update("u", spin)`, lead: forever},
	{name: "partition:update", setup: silent, call: `p:update("u", none)`, display: "p:update, no answer", lead: forever},
	{name: "partition:list", setup: open, call: `p:list({ limit = 10 })`},
	{name: "partition:list", setup: silent, call: `p:list()`, display: "p:list, no answer", lead: forever},
	{name: "partition:each", setup: open + ` for i = 1, 500 do p:put("row" .. i, i) end`, call: `for _ in p:each() do end`, display: "p:each over 500 rows"},
	{name: "partition:each", setup: silent, call: `for _ in p:each() do end`, display: "p:each, no answer", lead: forever},
}

const (
	open   = `local p = native.db.open("p") p:put("k", { 1, 2 })`
	silent = `local p = native.db.open("silent")`
)
