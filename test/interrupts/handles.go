package main

// handles opens one handle of each kind and passes probe.discover those that no
// module function returns.
const handles = `
	local _, err = pcall(native.json.decode, "")
	native.probe.discover(native.db.open("p"), native.json.null, err)
	native.http.get("http://api.test/quick")
	native.stream.open("endless")
	native.stream.create("quick")
	local conn = native.sql.open("db")
	conn:transaction(function(tx) native.probe.discover(tx) end)`
