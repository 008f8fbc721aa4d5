return { items = { { name = "ok" }, { name = "\255" } } }
