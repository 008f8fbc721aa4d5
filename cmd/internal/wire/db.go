package wire

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// DB says where native.db keeps its data: in an embedded file, or in a table
// of DynamoDB.
type DB struct {
	// File is the file of the embedded engine; "" if Table is set, otherwise
	// [DefaultFile]. It is created when a script first uses it.
	File string
	// Table is the table's name.
	Table string
	// Region is the table's region; "" is that of the environment or of the
	// user's AWS configuration.
	Region string
	// Endpoint is the address of the service; "" is that of the region.
	Endpoint string
}

// DefaultFile is where an embedded file lies if none is named.
const DefaultFile = "tidelock.db"

// Names of the environment's variables. What flags say counts more.
const (
	envFile     = "TIDELOCK_DB__FILE"
	envTable    = "TIDELOCK_DB__TABLE"
	envRegion   = "TIDELOCK_DB__REGION"
	envEndpoint = "TIDELOCK_DB__ENDPOINT"
)

// Flags is where the flags of a command are defined.
type Flags interface {
	StringVar(p *string, name, value, usage string)
}

// AddFlags defines the flags that name a file or a table.
func (d *DB) AddFlags(f Flags) {
	f.StringVar(&d.File, "db", "", "file of the embedded database (default "+DefaultFile+", environment "+envFile+")")
	d.AddTableFlags(f)
}

// AddTableFlags defines the flags that name a table.
func (d *DB) AddTableFlags(f Flags) {
	f.StringVar(&d.Table, "db-table", "", "table of DynamoDB, instead of a file (environment "+envTable+")")
	f.StringVar(&d.Region, "db-region", "", "region of the table (environment "+envRegion+", default that of AWS)")
	f.StringVar(&d.Endpoint, "db-endpoint", "", "address of DynamoDB, for emulators (environment "+envEndpoint+")")
}

// Resolve completes what the flags have left open from the environment, whose
// variables getenv returns, and with the default file.
func (d DB) Resolve(getenv func(string) string) (DB, error) {
	if d.File != "" && d.Table != "" {
		return d, errors.New("--db and --db-table exclude each other")
	}
	if d.File == "" && d.Table == "" {
		d.File, d.Table = getenv(envFile), getenv(envTable)
		if d.File != "" && d.Table != "" {
			return d, errors.New(envFile + " and " + envTable + " exclude each other")
		}
	}
	if d.Table == "" {
		if d.Region != "" || d.Endpoint != "" {
			return d, errors.New("--db-region and --db-endpoint need --db-table")
		}
		d.File = cmp.Or(d.File, DefaultFile)
		return d, nil
	}
	d.Region = cmp.Or(d.Region, getenv(envRegion))
	d.Endpoint = cmp.Or(d.Endpoint, getenv(envEndpoint))
	return d, nil
}

// OpenTable opens the table, without a request to it.
func (d DB) OpenTable(ctx context.Context, hands *vm.Hands, log *zap.Logger) (*dynamo.Store, error) {
	return dynamo.Open(ctx, hands, dynamo.Options{Table: d.Table, Region: d.Region, Endpoint: d.Endpoint, Log: log})
}

// time is the time that the rows of locks go by.
func (d DB) time(log *zap.Logger) lock.TableTime {
	if d.Table == "" {
		return lock.MachineClock{}
	}
	return lock.NewTableClock(lock.DefaultMaxSkew, func(off time.Duration) {
		if off == 0 {
			log.Info("this machine's clock agrees with the table's again")
			return
		}
		log.Warn("this machine's clock is off: what expires does so at other times than elsewhere", zap.Duration("ahead", off))
	})
}
