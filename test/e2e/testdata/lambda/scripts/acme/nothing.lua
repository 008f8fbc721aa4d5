local n = 1
