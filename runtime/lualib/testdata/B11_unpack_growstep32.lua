print(select("#", unpack({}, 1, 400000)))
