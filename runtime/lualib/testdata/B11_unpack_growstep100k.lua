print(select("#", unpack({}, 1, 900000)))
