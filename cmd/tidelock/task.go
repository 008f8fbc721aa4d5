package main

import (
	"context"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	_ "time/tzdata" // schedules name zones, and a container may have none

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/telemetry"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/protection"
	"github.com/tidelock-lua/tidelock/task/schedule"
	"github.com/tidelock-lua/tidelock/tenant"
)

func taskCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "Run scripts of many tenants at once: over HTTP, by schedules, or from a file",
	}
	addDBFlags(cmd.PersistentFlags())
	cmd.AddCommand(taskServeCommand(), taskBatchCommand())
	return cmd
}

func taskServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer HTTP and keep schedules until a signal",
		Long: `Answer HTTP and keep schedules until a signal.

SIGTERM or Ctrl-C ends the intake and lets what runs finish, within
task.stop_timeout. A second one cancels what runs at once. The exit code is 0.`,
		Example: "  tidelock task serve --config tidelock.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serve(cmd) },
	}
	cmd.Flags().String("listen", "", "address of the API (default 127.0.0.1:8080)")
	cmd.Flags().String("internal-listen", "", "address of health checks and metrics (default 127.0.0.1:9090)")
	return cmd
}

func serve(cmd *cobra.Command) error {
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	tenants, err := c.Directory()
	if err != nil {
		return err
	}
	log := newLog(c)
	metrics := telemetry.NewMetrics()
	watch, done, err := newObservers(cmd.Context(), c, log, metrics)
	if err != nil {
		return err
	}
	defer done()
	listener, err := net.Listen("tcp", c.Task.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	internal, err := net.Listen("tcp", c.Task.InternalListen)
	if err != nil {
		return err
	}
	defer internal.Close()
	program, err := newProgram(c, log, wire.Config{
		HostKind: "task", Observers: watch, Listeners: []string{listener.Addr().String(), internal.Addr().String()},
	})
	if err != nil {
		return err
	}
	defer program.Close()
	host, err := newTask(c, program, tenants, log, metrics)
	if err != nil {
		return err
	}
	ctx, stop := stoppable(cmd.Context(), log, host.ForceStop)
	defer stop()
	log.Info("serving", zap.String("listen", listener.Addr().String()), zap.String("internalListen", internal.Addr().String()),
		zap.Int("tenants", len(tenants)), zap.Int("schedules", len(c.Task.Schedules)), zap.Duration("stopTimeout", c.Task.StopTimeout.Value()))
	if agent, after := os.Getenv("ECS_AGENT_URI"), c.Task.ProtectAfter.Value(); agent != "" && after > 0 {
		go protection.New(agent, log).Keep(ctx, func() bool { return host.RunningFor(after) })
	}
	err = host.Serve(ctx, listener, internal)
	log.Info("stopped", zap.Error(err))
	return err
}

// newTask makes the host that the configuration describes.
func newTask(c *config.Config, program *wire.Program, tenants runtime.Directory, log *zap.Logger, metrics *telemetry.Metrics) (*task.Host, error) {
	hostName, _ := os.Hostname() // only shown, so it may be empty
	return task.New(task.Config{
		Engine: program.Engine, Tenants: tenants, Clock: program.Clock,
		Locks: program.Locks, Store: program.Store, Table: program.Store,
		Tokens: taskTokens(c), Schedules: taskSchedules(c),
		Limits: task.Limits{
			Concurrency: int(c.Task.MaxConcurrency), TenantConcurrency: int(c.Task.TenantMaxConcurrency),
			ScriptConcurrency: int(c.Task.ScriptMaxConcurrency), QueueLength: int(c.Task.Queue),
			Tenants: tenantLimits(c),
		},
		StopTimeout: c.Task.StopTimeout.Value(),
		HostName:    hostName, Process: strconv.Itoa(os.Getpid()),
		Metrics: metrics.Handler(),
		Events:  metrics.Task(),
		Context: telemetry.Extract,
		Log:     log,
		RunLog:  func(inv *runtime.Invocation) native.Logger { return wire.ScriptLog(log, inv) },
	})
}

// taskTokens are the tokens of operators and tenants, whose form has been
// checked with the configuration.
func taskTokens(c *config.Config) (tokens []api.Token) {
	for _, text := range c.Task.OperatorTokens {
		tokens = append(tokens, api.Token{SHA256: strings.TrimPrefix(text, "sha256:"), Operator: true})
	}
	for _, id := range slices.Sorted(maps.Keys(c.Tenants)) {
		for _, text := range c.Tenants[id].Tokens {
			tokens = append(tokens, api.Token{SHA256: strings.TrimPrefix(text, "sha256:"), Tenant: tenant.ID(id)})
		}
	}
	return tokens
}

// tenantLimits are the limits of tenants that have their own.
func tenantLimits(c *config.Config) map[tenant.ID]task.TenantLimits {
	limits := map[tenant.ID]task.TenantLimits{}
	for id, t := range c.Tenants {
		own := task.TenantLimits{Concurrency: int(t.MaxConcurrency), ScriptConcurrency: int(t.ScriptMaxConcurrency), QueueLength: int(t.Queue)}
		if own != (task.TenantLimits{}) {
			limits[tenant.ID(id)] = own
		}
	}
	return limits
}

func taskSchedules(c *config.Config) (out []schedule.Schedule) {
	for _, name := range slices.Sorted(maps.Keys(c.Task.Schedules)) {
		s := c.Task.Schedules[name]
		out = append(out, schedule.Schedule{
			Name: name, Tenant: tenant.ID(s.Tenant), Script: s.Script, Cron: s.Cron, Zone: s.Zone,
			Overlap: schedule.Overlap(s.Overlap), Missed: schedule.Missed(s.Missed), Event: []byte(s.Event),
		})
	}
	return out
}

// stoppable returns a context that the first signal ends. The second one calls
// forceStop.
func stoppable(parent context.Context, log *zap.Logger, forceStop func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	notifySignals(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	over := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				if n == 0 {
					log.Info("stopping: what runs may finish; a second signal cancels it", zap.Stringer("signal", s))
					cancel()
				} else {
					forceStop()
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}
