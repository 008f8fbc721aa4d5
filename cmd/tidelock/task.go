package main

import (
	"context"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
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
task.stop_timeout. A second one cancels what runs at once. The exit code is 0.

SIGHUP, like POST /v1/reload, reads the configuration anew: tenants, tokens,
schedules and limits. If anything in it is wrong, the old one goes on.

A configuration, a table or a listener that can't be used ends it at its start,
with exit code 2.`,
		Example: "  tidelock task serve --config tidelock.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serve(cmd) },
	}
	cmd.Flags().String("listen", "", "address of the API (default 127.0.0.1:8080)")
	cmd.Flags().String("internal-listen", "", "address of health checks and metrics (default 127.0.0.1:9090)")
	return cmd
}

func serve(cmd *cobra.Command) error {
	c, tenants, err := loadTask(cmd, loadConfig)
	if err != nil {
		return err
	}
	log, audit := newLogs(c)
	metrics := telemetry.NewMetrics()
	watch, done, err := newObservers(cmd.Context(), c, log, metrics)
	if err != nil {
		return err
	}
	defer done()
	listener, err := listen("task.listen", "listen", c.Task.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	internal, err := listen("task.internal_listen", "internal-listen", c.Task.InternalListen)
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
	reloads := &reloader{cmd: cmd, log: log, audit: audit, program: program, current: c}
	host, err := newTask(c, program, tenants, log, metrics, func(t *task.Config) { t.Audit, t.Reload = audit, reloads.reload })
	if err != nil {
		return err
	}
	reloads.host = host
	if err := checkStore(cmd.Context(), c, program); err != nil {
		return err
	}
	ctx, stop := stoppable(cmd.Context(), log, host.ForceStop, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer reloads.onSignal()()
	if hasStore(c) {
		go program.WatchStore(ctx, reloads.firstTenant)
	}
	log.Info("serving", zap.String("listen", listener.Addr().String()), zap.String("internalListen", internal.Addr().String()),
		zap.Int("tenants", len(tenants)), zap.Int("schedules", len(c.Task.Schedules)), zap.Duration("stopTimeout", c.Task.StopTimeout.Value()))
	if agent, after := os.Getenv("ECS_AGENT_URI"), c.Task.ProtectAfter.Value(); agent != "" && after > 0 {
		go protection.New(agent, log).Keep(ctx, func() bool { return host.RunningFor(after) })
	}
	err = host.Serve(ctx, listener, internal)
	log.Info("stopped", zap.Error(err))
	return err
}

// newTask makes the host that the configuration describes. more sets the fields
// that only a serving host has.
func newTask(c *config.Config, program *wire.Program, tenants runtime.Directory, log *zap.Logger, metrics *telemetry.Metrics, more func(*task.Config)) (*task.Host, error) {
	hostName, _ := os.Hostname() // only shown, so it may be empty
	settings := taskSettings(c, tenants)
	t := task.Config{
		Engine: program.Engine, Tenants: settings.Tenants, Clock: program.Clock,
		Locks: program.Locks, Store: program.Store, Table: program.Store,
		Tokens: settings.Tokens, Schedules: settings.Schedules, Limits: settings.Limits,
		StopTimeout: c.Task.StopTimeout.Value(), LameDuck: c.Task.LameDuck.Value(),
		HostName: hostName, Process: strconv.Itoa(os.Getpid()),
		Metrics: metrics.Handler(),
		Events:  metrics.Task(),
		Context: telemetry.Extract,
		Log:     log,
		RunLog:  func(inv *runtime.Invocation) native.Logger { return wire.ScriptLog(log, inv) },
	}
	t.Problems = problems(program)
	more(&t)
	host, err := task.New(t)
	if err != nil {
		return nil, err
	}
	metrics.Ready(host.Problems)
	return host, nil
}

// taskSettings are what a task can change while it serves.
func taskSettings(c *config.Config, tenants runtime.Directory) task.Settings {
	return task.Settings{
		Tenants: tenants, Tokens: taskTokens(c), Schedules: taskSchedules(c),
		Limits: task.Limits{
			Concurrency: int(c.Task.MaxConcurrency), TenantConcurrency: int(c.Task.TenantMaxConcurrency),
			ScriptConcurrency: int(c.Task.ScriptMaxConcurrency), QueueLength: int(c.Task.Queue),
			Tenants: tenantLimits(c),
		},
	}
}

// taskTokens are the tokens of operators and tenants, whose form has been
// checked with the configuration.
func taskTokens(c *config.Config) (tokens []api.Token) {
	add := func(text string, token api.Token) {
		t, _ := config.ParseToken(text)
		token.Name, token.SHA256 = t.Name, t.SHA256
		tokens = append(tokens, token)
	}
	for _, text := range c.Task.OperatorTokens {
		add(text, api.Token{Operator: true})
	}
	for _, id := range slices.Sorted(maps.Keys(c.Tenants)) {
		for _, text := range c.Tenants[id].Tokens {
			add(text, api.Token{Tenant: tenant.ID(id)})
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

// stoppable returns a context that the first of these signals ends. The second one calls
// forceStop.
func stoppable(parent context.Context, log *zap.Logger, forceStop func(), stopSignals ...syscall.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	notifySignals(signals, stopSignals...)
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
