package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/tenant"
)

// reloader reads the configuration anew while a task serves.
type reloader struct {
	cmd     *cobra.Command
	log     *zap.Logger
	audit   *zap.Logger
	program *wire.Program
	host    *task.Host

	mu      sync.Mutex // guards current
	current *config.Config
}

// reload reads the configuration from the same sources as at the start, and
// replaces the current one, or changes nothing if anything in it is wrong.
func (r *reloader) reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.replace()
	if err != nil {
		r.log.Error("the configuration was not reloaded, the old one goes on", zap.Strings("errors", strings.Split(err.Error(), "\n")))
		return err
	}
	for _, warning := range r.current.Warnings() {
		r.log.Warn(warning)
	}
	r.log.Info("the configuration is reloaded", zap.Int("tenants", len(r.current.Tenants)), zap.Int("schedules", len(r.current.Task.Schedules)))
	return nil
}

func (r *reloader) replace() error {
	// Without the file that it was read from, its tokens and limits would be gone.
	load := loadConfig
	if file := r.current.Source(); file != "" {
		load = func(cmd *cobra.Command) (*config.Config, error) { return loadConfigFrom(cmd, file) }
	}
	next, tenants, err := loadTask(r.cmd, load)
	if err != nil {
		return err
	}
	if err := errors.Join(next.CheckSecrets(), sameFixed(r.current, next)); err != nil {
		return err
	}
	if err := r.host.Reload(taskSettings(next, tenants)); err != nil {
		return err
	}
	r.program.Reload(next)
	r.current = next
	return nil
}

// onSignal reloads at each SIGHUP, until stop is called.
func (r *reloader) onSignal() (stop func()) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	notifySignals(signals, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-signals:
				err := r.reload()
				r.audit.Info("audit", zap.String("act", "configuration.reload"), zap.Bool("done", err == nil),
					zap.String("caller", "SIGHUP"), zap.String("role", "operator"), zap.String("from", "signal"))
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
	}
}

// firstTenant returns a tenant of the configuration, "" if there is none.
func (r *reloader) firstTenant() tenant.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return firstTenant(r.current)
}

// firstTenant returns a tenant whose rows a task may write.
func firstTenant(c *config.Config) (first tenant.ID) {
	for id := range c.Tenants {
		if first == "" || tenant.ID(id) < first {
			first = tenant.ID(id)
		}
	}
	return first
}

// loadTask loads the configuration of a task and opens its tenants.
func loadTask(cmd *cobra.Command, load func(*cobra.Command) (*config.Config, error)) (*config.Config, runtime.Directory, error) {
	c, err := load(cmd)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Tenants) == 0 {
		return nil, nil, errors.New("tenants: there is none, so no script could run: name one, such as tenants: {acme: {scripts: ./scripts/acme}}")
	}
	tenants, err := c.Directory()
	return c, tenants, err
}

// reloadable are the keys whose values a task can change while it serves: these,
// and all below them.
var reloadable = []string{
	"tenants", "limits", "http", "sql", "lambda", "task.operator_tokens", "task.schedules",
	"task.max_concurrency", "task.tenant_max_concurrency", "task.script_max_concurrency", "task.queue",
}

// sameFixed names each value that has changed and that a task can't change while
// it serves.
func sameFixed(old, next *config.Config) error {
	was, is := valuesByKey(old), valuesByKey(next)
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.ContainsFunc(reloadable, func(k string) bool { return key == k || strings.HasPrefix(key, k+".") }) || was[key].Text == is[key].Text {
			continue
		}
		place := cmp.Or(is[key].Origin, was[key].Origin)
		errs = append(errs, fmt.Errorf("%s: %s: can't be changed without a restart: it is %q now", place, key, was[key].Text))
	}
	return errors.Join(errs...)
}

func valuesByKey(c *config.Config) map[string]config.Value {
	values := map[string]config.Value{}
	for _, v := range c.Values() {
		values[v.Key] = v
	}
	return values
}
