//go:build !embedded

package main

// openEmbedded is nothing: SQLite would be half of the program.
func openEmbedded() embedded { return nil }
