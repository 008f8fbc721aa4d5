load(math.random)
