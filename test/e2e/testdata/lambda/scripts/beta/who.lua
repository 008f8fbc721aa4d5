return "beta"
