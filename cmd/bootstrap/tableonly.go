//go:build !embedded

package main

// openEmbedded returns nil: SQLite would be half of the program.
func openEmbedded() embedded { return nil }
