return "acme"
