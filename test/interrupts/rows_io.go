package main

import "strings"

// httpRows are native.http. The path names what the server sends: the complete
// response, its beginning, or nothing.
var httpRows = append([]row{
	{name: "native.http.request", call: `native.http.request({ url = "http://api.test/quick" })`},
	{name: "native.http.request", call: `native.http.request({ url = "http://api.test/silent", method = "PUT", body = "x" })`, lead: forever},
	{name: "native.http.get", call: `native.http.get("http://unreachable.test/")`, lead: forever},
	{name: "native.http.get", call: `native.http.get("http://api.test/half")`, lead: forever},
	{name: "native.http.get", call: `native.http.get("http://api.test/half", { stream = true }).body:read_all()`, lead: forever},
	{name: "native.http.get", call: `native.http.get("http://api.test/drips")`, display: "native.http.get of an answer that comes bit by bit", lead: forever},
	{name: "native.http.post", call: `native.http.post("http://api.test/half", { json = { 1 } })`, lead: forever},
	{name: "native.http.post", setup: `local t = {} for i = 1, 2e5 do t[i] = { i } end`, call: `native.http.post("http://api.test/quick", { json = t })`, display: "native.http.post of 200,000 lists", lead: 1},
	{name: "response:json", setup: `local r = native.http.get("http://api.test/quick")`, call: `r:json()`},
	{name: "response:json", setup: `local r = native.http.get("http://api.test/lists")`, call: `r:json()`, display: "r:json() of 200,000 lists", lead: 1},
}, verbRows("get", "head", "options", "post", "put", "patch", "delete")...)

func verbRows(names ...string) (rows []row) {
	for _, name := range names {
		call := `native.http.` + name + `("http://api.test/quick")`
		rows = append(rows,
			row{name: "native.http." + name, call: call},
			row{name: "native.http." + name, call: strings.Replace(call, "quick", "silent", 1), lead: forever})
	}
	return rows
}

// streamRows are native.stream. A stream is closed when a deadline interrupts a
// call on it, so each call that may be interrupted opens a stream of its own. It
// closes the one before: a run may have 100 open.
var streamRows = []row{
	{name: "native.stream.open", setup: streaming, call: `s:close() s = native.stream.open("endless")`},
	{name: "native.stream.create", setup: writing, call: `out:close() out = native.stream.create("quick")`},
	{name: "stream:read", setup: streaming, call: `if not pcall(s.read, s) then s = native.stream.open("endless") end`, display: "s:read()"},
	{name: "stream:read", setup: streaming, call: reopen + `s:read(1e6)`, display: "s:read(1e6)", lead: 1},
	{name: "stream:read", setup: streaming, call: silentStream + `s:read()`, display: "s:read(), nothing comes", lead: forever},
	{name: "stream:read_all", setup: streaming, call: reopen + `pcall(s.read_all, s, 16e6)`, display: "s:read_all(16e6) of more", lead: 1},
	{name: "stream:read_all", setup: streaming, call: halfStream + `s:read_all()`, display: "s:read_all(), no end comes", lead: forever},
	{name: "stream:lines", setup: streaming, call: reopen + `for _ in s:lines() do end`, display: "s:lines(), endless", lead: forever},
	{name: "stream:lines", setup: streaming, call: halfStream + `for _ in s:lines() do end`, display: "s:lines(), the second doesn't come", lead: forever},
	{name: "stream:lines", setup: streaming, call: fieldStream + `pcall(s:lines({ limit = 16e6 }))`, display: "s:lines() of a line of more than 16 MB", lead: 1},
	{name: "stream:json_lines", setup: streaming, call: reopen + `for _ in s:json_lines() do end`, display: "s:json_lines(), endless", lead: forever},
	{name: "stream:json_lines", setup: streaming, call: halfStream + `for _ in s:json_lines() do end`, display: "s:json_lines(), the second doesn't come", lead: forever},
	{name: "stream:csv", setup: streaming, call: reopen + `for _ in s:csv() do end`, display: "s:csv(), endless", lead: forever},
	{name: "stream:csv", setup: streaming, call: halfStream + `for _ in s:csv() do end`, display: "s:csv(), the second doesn't come", lead: forever},
	{name: "stream:csv", setup: streaming, call: fieldStream + `pcall(function() for _ in s:csv({ limit = 16e6 }) do end end)`, display: "s:csv() of a field of more than 16 MB", lead: 1},
	{name: "stream:close", setup: streaming, call: `s:close()`},
	{name: "output:write", setup: writing, call: `if not pcall(out.write, out, "x") then out = native.stream.create("quick") end`, display: `out:write("x")`},
	{name: "output:write", setup: writing, call: `out:close() out = native.stream.create("silent") out:write("x")`, display: `out:write("x"), never accepted`, lead: forever},
	{name: "output:close", setup: writing, call: `out:close()`},
}

const (
	streaming    = `local s = native.stream.open("endless")`
	writing      = `local out = native.stream.create("quick")`
	reopen       = `s:close() s = native.stream.open("endless") `
	silentStream = `s:close() s = native.stream.open("silent") `
	halfStream   = `s:close() s = native.stream.open("half") `
	fieldStream  = `s:close() s = native.stream.open("field") `
)

// sqlRows are native.sql. The last word of a statement names how the server
// answers it: at once, with one row of many, or not at all. The server honors
// cancel requests, except for "uncancellable".
var sqlRows = []row{
	{name: "native.sql.open", call: `native.sql.open("db")`},
	{name: "connection:query", setup: connected, call: `conn:query("select quick")`},
	{name: "connection:query", setup: connected, call: `conn:query("select silent")`, lead: forever},
	{name: "connection:query", setup: connected, call: `conn:query("select half")`, lead: forever},
	{name: "connection:query", setup: connected, call: `pcall(conn.query, conn, "select endless")`, display: "conn:query of rows without end, which are refused at 16 MiB", lead: 1},
	{name: "connection:query", setup: `local conn = native.sql.open("unreachable")`, call: `conn:query("select quick")`, display: "conn:query, the server can't be reached", lead: forever},
	{name: "connection:query", setup: `local conn = native.sql.open("one") local held = conn:stream("select endless")`,
		call: `conn:query("select quick")`, display: "conn:query, no connection is free", lead: forever},
	{name: "connection:each", setup: connected, call: `for _ in conn:each("select quick") do end`},
	{name: "connection:each", setup: connected, call: `for _ in conn:each("select silent") do end`, lead: forever},
	{name: "connection:each", setup: connected, call: `for _ in conn:each("select half") do end`, lead: forever},
	{name: "connection:each", setup: connected, call: `for _ in conn:each("select endless") do end`, lead: forever},
	{name: "connection:exec", setup: connected, call: `conn:exec("update quick")`},
	{name: "connection:exec", setup: connected, call: `conn:exec("update silent")`, lead: forever},
	{name: "connection:exec", setup: `local conn = native.sql.open("uncancellable")`, call: `conn:exec("update silent")`,
		display: "conn:exec, the server ignores the cancel request, and the connection is cut after 30 ms", lead: forever, delay: 30},
	{name: "connection:stream", setup: connected + ` local s = conn:stream("select quick")`, call: `s:close() s = conn:stream("select quick")`},
	{name: "connection:stream", setup: connected, call: `conn:stream("select silent")`, lead: forever},
	{name: "connection:stream", setup: connected + ` local s = conn:stream("select quick")`,
		call: `s:close() s = conn:stream("select half") s:read_all()`, lead: forever},
	{name: "connection:transaction", setup: connected, call: `conn:transaction(none)`},
	{name: "connection:transaction", setup: connected, call: `conn:transaction(spin)`, lead: forever},
	{name: "connection:transaction", setup: `local conn = native.sql.open("no-begin")`, call: `conn:transaction(none)`, display: "conn:transaction, no answer to its begin", lead: forever},
	{name: "connection:transaction", setup: `local conn = native.sql.open("no-commit")`, call: `conn:transaction(none)`, display: "conn:transaction, no answer to its commit", lead: forever},
	{name: "transaction:query", setup: transacted, call: `conn:transaction(function(tx) tx:query("select quick") end)`},
	{name: "transaction:query", setup: transacted, call: `conn:transaction(function(tx) tx:query("select half") end)`, lead: forever},
	{name: "transaction:each", setup: transacted, call: `conn:transaction(function(tx) for _ in tx:each("select quick") do end end)`},
	{name: "transaction:each", setup: transacted, call: `conn:transaction(function(tx) for _ in tx:each("select endless") do end end)`, lead: forever},
	{name: "transaction:each", setup: transacted, call: `conn:transaction(function(tx) for _ in tx:each("select half") do end end)`, lead: forever},
	{name: "transaction:exec", setup: transacted, call: `conn:transaction(function(tx) tx:exec("update quick") end)`},
	{name: "transaction:exec", setup: transacted, call: `conn:transaction(function(tx) tx:exec("update silent") end)`, lead: forever},
}

const (
	connected  = `local conn = native.sql.open("db")`
	transacted = connected + ` local tx conn:transaction(function(t) tx = t end)`
)
