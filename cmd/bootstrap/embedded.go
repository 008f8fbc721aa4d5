//go:build embedded

package main

import (
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/vm"
)

func openEmbedded() embedded {
	return func(file string, hands *vm.Hands) (wire.Store, error) {
		return sqlite.Open(file, hands, sqlite.Options{})
	}
}
