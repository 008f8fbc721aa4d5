package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/task/api"
)

// startTime bounds how long a task waits at its start for the table to answer.
const startTime = 15 * time.Second

// checkStore checks that the configured store can be used. The error says what
// an operator can do about it.
func checkStore(ctx context.Context, c *config.Config, program *wire.Program) error {
	if !hasStore(c) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	err := program.CheckStore(ctx, firstTenant(c))
	switch {
	case err == nil:
		return nil
	case c.DB.Table != "":
		return fmt.Errorf("%w\nCheck db.table, db.region and db.endpoint, the credentials and the network; tidelock table check shows more", err)
	}
	return fmt.Errorf("%w\nCheck that the folder of db.file exists on a local disk that isn't full, and that this process may write in it", err)
}

// hasStore reports whether scripts have a database.
func hasStore(c *config.Config) bool { return c.DB.Table != "" || c.DB.File != "" }

// problems returns what keeps a task from being ready.
func problems(program *wire.Program) func() []api.Problem {
	return func() []api.Problem {
		if check, reason := program.Health.Problem(); check != "" {
			return []api.Problem{{Check: check, Reason: reason}}
		}
		return nil
	}
}

// listen opens a listener. The error names its key.
func listen(key, flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\nStop what listens there, or set %s or --%s to another address", key, err, key, flag)
	}
	return l, nil
}
