package wire

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/lock"
)

// Store is an engine of native.db, with the rows of locks.
type Store interface {
	db.Store
	lock.Table
	lock.Lister
	Close() error
}

// OpenTable opens the configured table of DynamoDB. It sends no request.
func OpenTable(ctx context.Context, c config.DB, clk *clock.Dual, log *zap.Logger) (*dynamo.Store, error) {
	return dynamo.Open(ctx, clk, dynamo.Options{Table: c.Table, Region: c.Region, Endpoint: c.Endpoint, Log: log})
}

// openStore opens the engine that the configuration has chosen.
func (c Config) openStore(clk *clock.Dual) (store Store, err error) {
	switch db := c.Config.DB; {
	case db.Table != "":
		store, err = OpenTable(context.Background(), db, clk, c.Log)
	case c.Embedded != nil && db.File == "":
		err = errors.New("no database is configured: set db.file or db.table")
	case c.Embedded != nil:
		store, err = c.Embedded(db.File, clk)
	default:
		err = errors.New("this program has no embedded database: set db.table")
	}
	if err != nil {
		return nil, err // health logs it
	}
	return store, nil
}

// tableTime returns the time by which rows of locks expire.
func (c Config) tableTime() lock.TableTime {
	if c.Config.DB.Table == "" {
		return lock.MachineClock{}
	}
	skew := time.Duration(c.Config.Lock.MaxSkewMillis) * time.Millisecond
	return lock.NewTableClock(skew, func(off time.Duration) {
		if c.Observers.ClockAhead != nil {
			c.Observers.ClockAhead(off)
		}
		if off == 0 {
			c.Log.Info("this machine's clock agrees with the table's again")
			return
		}
		c.Log.Warn("this machine's clock is off: what expires does so at other times than elsewhere", zap.Duration("ahead", off))
	})
}
