package main

// tableRows are the table table.
var tableRows = []row{
	{name: "table.concat", setup: `local t = {} for i = 1, 1e6 do t[i] = "word" end`, call: `table.concat(t, ", ")`, display: "table.concat of 1,000,000 strings", lead: 1},
	{name: "table.concat", setup: `local t = { "a", "b" }`, call: `table.concat(t)`},
	{name: "table.getn", setup: `local t = { 1, 2 }`, call: `table.getn(t)`},
	{name: "table.insert", setup: `local t = {}`, call: `table.insert(t, 1)`},
	{name: "table.insert", setup: `local t = {} for i = 1, 5e5 do t[i] = i end`, call: `table.insert(t, 1, 1) t[#t] = nil`, display: "in front of 500,000 elements"},
	{name: "table.insert", setup: `local t = {} for i = 1, 5e5 do t[i] = i end`, call: `table.insert(t, 0, 1)`, display: "at 0, before 500,000 elements", lead: 1},
	{name: "table.insert", call: `table.insert({}, 1e6, 1)`, lead: 1},
	{name: "table.maxn", setup: `local t = {} for i = 1, 3e5 do t["k" .. i] = i end`, call: `table.maxn(t)`, display: "table.maxn of 300,000 fields", lead: 1},
	{name: "table.remove", setup: `local t = { 1, 2 }`, call: `table.remove(t)`},
	{name: "table.remove", setup: `local t = {} for i = 1, 5e5 do t[i] = i end`, call: `t[#t + 1] = 1 table.remove(t, 1)`, display: "in front of 500,000 elements"},
	{name: "table.sort", setup: `local t, fresh = {} for i = 1, 5e5 do t[i] = math.random() end`, call: `fresh = { t[1] } for i = 1, #t do fresh[i] = t[i] end table.sort(fresh)`, display: "500,000 numbers", lead: 1},
	{name: "table.sort", setup: `local t = {} for i = 1, 2e5 do t[i] = "k" .. math.random() end`, call: `table.sort(t, function(a, b) return b < a end) table.sort(t)`, display: "200,000 strings, by a function and without", lead: 1},
	{name: "table.sort", setup: `local t = {} for i = 1, 2e5 do t[i] = 1 end`, call: `table.sort(t, rawequal)`, display: "200,000 numbers by rawequal", lead: 1},
}
