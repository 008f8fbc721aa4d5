// Command bootstrap is the runtime for AWS Lambda. It is configured by
// tidelock.yaml beside it and by the environment, see docs/lambda.md.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/sql/mysql"
	"github.com/tidelock-lua/tidelock/native/sql/postgres"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Variables that the platform sets.
const (
	envAPI       = "AWS_LAMBDA_RUNTIME_API"
	envTask      = "LAMBDA_TASK_ROOT"
	envLogLevel  = "AWS_LAMBDA_LOG_LEVEL"
	envLogFormat = "AWS_LAMBDA_LOG_FORMAT"
)

// embedded opens the embedded engine; nil is a program without one.
type embedded func(file string, clk *clock.Dual) (wire.Store, error)

func main() {
	log := newLog("")
	host, failed := start(&log)
	if failed == nil {
		host.Serve()
	}
	log.Error("the function can't start", zap.String("errorType", string(failed.Type)), zap.String("errorMessage", failed.Message))
	if api := os.Getenv(envAPI); api != "" {
		if err := lambda.ReportInitError(api, failed); err != nil {
			log.Error("the platform was not told", zap.Error(err))
		}
	}
	os.Exit(1)
}

// start makes the host; log becomes the configured one.
func start(log **zap.Logger) (host *lambda.Host, failed *runtime.Error) {
	defer func() {
		if p := recover(); p != nil {
			(*log).Error("panic", zap.Any("panic", p), zap.Stack("goStack"))
			failed = runtime.Errorf(runtime.HostInternal, "internal error")
		}
	}()
	host, err := configure(log)
	if err != nil {
		return nil, runtime.Errorf(runtime.HostConfigInvalid, "%v", err)
	}
	return host, nil
}

func configure(log **zap.Logger) (*lambda.Host, error) {
	if os.Getenv(envAPI) == "" {
		return nil, errors.New(envAPI + " is not set: this program runs on AWS Lambda only")
	}
	// Relative paths are relative to the function's files.
	if task := os.Getenv(envTask); task != "" {
		if err := os.Chdir(task); err != nil {
			return nil, err
		}
	}
	c, err := config.Load(config.Options{Environ: os.Environ()})
	if err != nil {
		return nil, err
	}
	*log = newLog(c.Log.Level)
	for _, warning := range c.Warnings() {
		(*log).Warn(warning)
	}
	open := openEmbedded()
	if err := storeAllowed(c, open != nil); err != nil {
		return nil, err
	}
	if len(c.Tenants) == 0 {
		return nil, errors.New("tenants: there is none, so no script can run")
	}
	tenants, err := c.Directory()
	if err != nil {
		return nil, err
	}
	// A function that can serve most of its events still starts.
	warnings, wrong := c.Check(tenants)
	for _, warning := range warnings {
		(*log).Warn(warning)
	}
	if wrong != nil {
		(*log).Warn("not all of the configuration can work", zap.Error(wrong))
	}
	t, err := openTraces(c.Trace.Endpoint, *log)
	if err != nil {
		return nil, err
	}
	program, err := wire.New(wire.Config{
		Config: c, HostKind: "lambda", Log: *log, Embedded: open, Observers: t.observers(),
		SQLDrivers: map[string]sql.Driver{"postgres": postgres.New(), "mysql": mysql.New()},
	})
	if err != nil {
		return nil, err
	}
	return lambda.New(lambda.Config{
		Engine: program.Engine, Clock: program.Clock, Tenants: tenants, Routes: routes(c),
		Margin: c.Lambda.Margin.Value(), BatchResponses: c.Lambda.BatchResponses,
		Thawed: func() { program.DropIdle(); t.dropIdle() }, Flush: t.flush, Log: *log, RunLog: wire.ScriptLog,
	})
}

func routes(c *config.Config) (out []lambda.Route) {
	for _, r := range c.Lambda.Routes {
		out = append(out, lambda.Route{Match: r.Match, Tenant: tenant.ID(r.Tenant), Script: r.Script})
	}
	return out
}

// storeAllowed refuses a configured file: each environment of the function would
// have a file of its own, so that its locks exclude no other environment.
func storeAllowed(c *config.Config, has bool) error {
	for _, v := range c.Values() {
		if v.Key != "db.file" || v.Origin == "default" {
			continue
		}
		switch {
		case !c.Lambda.EmbeddedDB:
			return fmt.Errorf("%s: db.file: each environment of the function would have a file of its own: "+
				"set db.table, or allow it by lambda.embedded_db", v.Origin)
		case !has:
			return fmt.Errorf("%s: db.file: this program was built without the embedded engine (-tags embedded)", v.Origin)
		}
	}
	return nil
}

// newLog returns the function's log. Its format and level are those of the
// function's logging configuration, else the configured level counts.
func newLog(level string) *zap.Logger {
	log := wire.NewLog(os.Stdout, strings.EqualFold(os.Getenv(envLogFormat), "text"))
	return log.WithOptions(zap.IncreaseLevel(lowest(os.Getenv(envLogLevel), level)))
}

// lowest returns the lowest level that is logged.
func lowest(platform, configured string) zapcore.Level {
	switch strings.ToUpper(platform) {
	case "TRACE", "DEBUG":
		return zap.DebugLevel
	case "INFO":
		return zap.InfoLevel
	case "WARN":
		return zap.WarnLevel
	case "ERROR":
		return zap.ErrorLevel
	case "FATAL":
		return zap.FatalLevel
	}
	return wire.Level(configured)
}
