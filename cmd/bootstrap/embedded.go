//go:build embedded

package main

import (
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
)

func openEmbedded() embedded {
	return func(file string, clk *clock.Dual) (wire.Store, error) {
		return sqlite.Open(file, clk, sqlite.Options{})
	}
}
