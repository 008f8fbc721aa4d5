package main

// handles makes one handle of each kind, for the walk. What functions of a
// module return is found without it.
const handles = `
	local _, err = pcall(native.json.decode, "")
	native.probe.walk(native.db.open("p"), native.json.null, err)
	native.http.get("http://api.test/quick")
	native.stream.open("endless")
	native.stream.create("quick")
	local conn = native.sql.open("db")
	conn:transaction(function(tx) native.probe.walk(tx) end)`
