package main

// stringRows are the table string, whose functions are the methods of strings.
var stringRows = []row{
	{name: "string.byte", setup: `local s = ("x"):rep(8 * K)`, call: `s:byte(1, -1)`, display: "s:byte(1, -1) of 8,000 bytes"},
	{name: "string.char", setup: `local list = {} for i = 1, 8 * K do list[i] = i % 256 end`, call: `string.char(unpack(list))`, display: "string.char of 8,000 values"},
	{name: "string.find", call: `("abc"):find("b", 1, true)`},
	{name: "string.find", setup: `local s, p = ("a"):rep(100), ("a-"):rep(15) .. "b"`, call: `s:find(p)`, display: `s:find(("a-"):rep(15) .. "b")`, lead: forever},
	{name: "string.find", setup: `local s, p = ("a"):rep(16e6), ("a"):rep(1e4) .. "b"`, call: `s:find(p, 1, true)`, display: "s:find(p, 1, true) in 16 MB", lead: 1},
	{name: "string.format", call: `("%5.2f %s %q"):format(1, "x", "y")`},
	{name: "string.format", setup: `local list, f = {}, ("%s"):rep(200) for i = 1, 200 do list[i] = ("x"):rep(2e5) end`,
		call: `f:format(unpack(list))`, display: "200 strings of 200 KB", lead: 1},
	{name: "string.gmatch", setup: `local s = ("a"):rep(200)`, call: `for _ in s:gmatch("(.-)(.-)(.-)(.-)(.-)b") do end`, display: `s:gmatch("(.-)(.-)(.-)(.-)(.-)b")`, lead: forever},
	{name: "string.gmatch", setup: `local s = ("a"):rep(4e6)`, call: `for _ in s:gmatch(".") do end`, display: "s:gmatch(\".\") over 4 MB", lead: 1},
	{name: "string.gsub", call: `("abc"):gsub("b", "%0%0")`},
	{name: "string.gsub", setup: `local s = ("a"):rep(4e6)`, call: `s:gsub("a", "b")`, display: "4,000,000 matches", lead: 1},
	{name: "string.gsub", setup: `local s = ("a"):rep(4e6)`, call: `s:gsub("a", string.upper)`, display: "4,000,000 calls of string.upper", lead: 1},
	{name: "string.gsub", setup: `local s, t = ("a"):rep(4e6), { a = "b" }`, call: `s:gsub("a", t)`, display: "4,000,000 fields of a table", lead: 1},
	{name: "string.len", call: `("x"):len()`},
	{name: "string.lower", setup: `local s = ("X"):rep(32e6)`, call: `s:lower()`, display: "s:lower() of 32 MB", lead: 1},
	{name: "string.match", setup: `local s = ("a"):rep(1e5)`, call: `s:match("(.*)(.*)b")`, lead: forever},
	{name: "string.match", setup: `local s = ("("):rep(1e5)`, call: `s:match("%b()")`, lead: 1},
	{name: "string.rep", call: `("x"):rep(64e6)`, lead: 1},
	{name: "string.rep", call: `("x"):rep(10)`},
	{name: "string.reverse", setup: `local s = ("x"):rep(32e6)`, call: `s:reverse()`, display: "s:reverse() of 32 MB", lead: 1},
	{name: "string.sub", setup: `local s = ("x"):rep(1e6)`, call: `s:sub(2, -2)`},
	{name: "string.upper", setup: `local s = ("x"):rep(32e6)`, call: `s:upper()`, display: "s:upper() of 32 MB", lead: 1},
}
