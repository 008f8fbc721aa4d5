package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/sql/mysql"
	"github.com/tidelock-lua/tidelock/native/sql/postgres"
	sqlfile "github.com/tidelock-lua/tidelock/native/sql/sqlite"
)

// addDBFlags defines the flags that name a file or a table.
func addDBFlags(f *pflag.FlagSet) {
	f.String("db", "", "file of the embedded database, or :memory: (default "+config.DefaultDBFile+", environment TIDELOCK_DB__FILE)")
	addTableFlags(f)
}

// addTableFlags defines the flags that name a table.
func addTableFlags(f *pflag.FlagSet) {
	f.String("db-table", "", "table of DynamoDB, instead of a file (environment TIDELOCK_DB__TABLE)")
	f.String("db-region", "", "region of the table (environment TIDELOCK_DB__REGION, default that of AWS)")
	f.String("db-endpoint", "", "address of DynamoDB, for emulators (environment TIDELOCK_DB__ENDPOINT)")
}

// configFlags are the flags that set a key of the configuration.
var configFlags = map[string]string{
	"db": "db.file", "db-table": "db.table", "db-region": "db.region", "db-endpoint": "db.endpoint",
	"allow-net": "http.allow", "listen": "task.listen", "internal-listen": "task.internal_listen",
}

// loadConfig reads the configuration: files, environment, and the flags of cmd
// that are set.
func loadConfig(cmd *cobra.Command) (*config.Config, error) {
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	return loadConfigFrom(cmd, file)
}

// loadConfigFrom is loadConfig with the file that --config names. A file that is
// named has to be there.
func loadConfigFrom(cmd *cobra.Command, file string) (*config.Config, error) {
	o := config.Options{File: file, Environ: os.Environ()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		key, ok := configFlags[f.Name]
		if !ok {
			return
		}
		var value any = f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = list.GetSlice()
		}
		o.Flags = append(o.Flags, config.Flag{Key: key, Name: "--" + f.Name, Value: value})
	})
	c, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	// The flag counts more than a list of the tenant's own too.
	if id, _ := cmd.Flags().GetString("tenant"); cmd.Flags().Changed("allow-net") && c.Tenants[id].HTTP != nil {
		t := c.Tenants[id]
		t.HTTP = &c.HTTP
		c.Tenants[id] = t
	}
	return c, nil
}

// newProgram makes the runtime of a command. more holds what other commands
// don't have.
func newProgram(c *config.Config, log *zap.Logger, more wire.Config) (*wire.Program, error) {
	if more.HostKind != "" && filepath.Base(c.DB.File) == inMemory {
		return nil, errors.New("db.file: " + inMemory + " is for tidelock run and repl, a server needs a file or a table")
	}
	more.Config, more.Log, more.Embedded = c, log, openEmbedded
	more.SQLDrivers = map[string]sql.Driver{"postgres": postgres.New(), "mysql": mysql.New(), "sqlite": sqlfile.New()}
	if more.HostKind == "" {
		more.HostKind = "cli"
	}
	return wire.New(more)
}

// inMemory is the name that stands for a database in memory, which lasts as long as
// the command.
const inMemory = ":memory:"

func openEmbedded(file string, clk *clock.Dual) (wire.Store, error) {
	if filepath.Base(file) == inMemory {
		return memoryStore{memory.New(clk)}, nil
	}
	return sqlite.Open(file, clk, sqlite.Options{})
}

type memoryStore struct{ *memory.Store }

func (memoryStore) Close() error { return nil }

// newLog returns the log of a command, on standard error, which begins with the
// warnings of the configuration. Libraries log to it too.
func newLog(c *config.Config) *zap.Logger {
	log, _ := newLogs(c)
	return log
}

// newLogs returns the log of a command, as newLog does, and the audit log, which
// has all its records whatever the level of the log is.
func newLogs(c *config.Config) (log, audit *zap.Logger) {
	console := c.Log.Format == "console" || c.Log.Format == "auto" && isTerminal(os.Stderr)
	var out io.Writer = os.Stderr
	if console {
		out = terminalLog{os.Stderr}
	}
	all := wire.NewLog(out, console)
	log, audit = all.WithOptions(zap.IncreaseLevel(wire.Level(c.Log.Level))), all.Named("audit")
	wire.RedirectStandardLog(log)
	for _, warning := range c.Warnings() {
		log.Warn(warning)
	}
	return log, audit
}
