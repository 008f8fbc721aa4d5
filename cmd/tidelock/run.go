package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
	"github.com/tidelock-lua/tidelock/tenant"
)

// runFlags are the flags of tidelock run.
type runFlags struct {
	tenant  string
	event   string
	timeout time.Duration
	streams map[string]string
	outputs map[string]string
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCRIPT",
		Short: "Run a script and print its result as JSON",
		Long: `Run a script and print its result as JSON.

A script is a chunk that returns a value, or a function that is called with
the event; - reads it from standard input. The result goes to standard output,
everything else to standard error. Ctrl-C interrupts the script; its locks are
released.`,
		Example: "  tidelock run import.lua --event @rows.json --timeout 5m",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runScript(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tenant, "tenant", "dev", "tenant whose script it is")
	flags.StringVar(&f.event, "event", "", "event as JSON, @FILE, or - for standard input")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest time the script may run (default 30s, or what the configuration says)")
	flags.StringToStringVar(&f.streams, "stream", nil, "NAME=FILE that native.stream.open(NAME) reads, - is standard input")
	flags.StringToStringVar(&f.outputs, "output", nil, "NAME=FILE that native.stream.create(NAME) writes")
	flags.StringSlice("allow-net", nil, "HOST that native.http may reach; none without it (see docs/http.md)")
	addDBFlags(flags)
	return cmd
}

func runScript(cmd *cobra.Command, path string, f runFlags) error {
	inv, failed := newInvocation(cmd, path, f)
	if failed != nil {
		return reportFailure(cmd, failed, nil)
	}
	c, err := loadConfig(cmd)
	if err != nil {
		return reportFailure(cmd, runtime.Errorf(runtime.HostConfigInvalid, "%v", err), nil)
	}
	if inv.Scripts, err = scriptRoots(c, inv.Tenant, path); err != nil {
		return reportFailure(cmd, runtime.Errorf(runtime.HostConfigInvalid, "%v", err), nil)
	}
	timeout := inv.Limits.Timeout
	inv.Limits = c.TenantLimits(inv.Tenant)
	if timeout > 0 {
		inv.Limits.Timeout = timeout
	}
	log := newLog(c)
	observers, done, err := newTraceObservers(cmd.Context(), c, log)
	if err != nil {
		return err
	}
	defer done()
	program, err := newProgram(c, log, wire.Config{Streams: f.openStreams(cmd.InOrStdin()), Observers: observers})
	if err != nil {
		return err
	}
	defer program.Close()
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	inv.Log = wire.ScriptLog(log, inv)
	result := program.Engine.Run(ctx, *inv)
	runlog.Incidents(log, result.Incidents...)
	if result.Error != nil {
		return reportFailure(cmd, result.Error, inv)
	}
	if err := printResult(cmd, result); err != nil && !isBrokenPipe(err) {
		return reportFailure(cmd, runtime.Errorf(runtime.HostInternal, "the script succeeded, but its result can't be written: %v", err), nil)
	}
	return nil
}

// newInvocation reads all that a run needs, before the store is opened.
func newInvocation(cmd *cobra.Command, path string, f runFlags) (*runtime.Invocation, *runtime.Error) {
	id, err := tenant.Parse(f.tenant)
	if err != nil {
		return nil, runtime.Errorf(runtime.TenantUnknown, "%v", err)
	}
	if cmd.Flags().Changed("timeout") && f.timeout <= 0 {
		return nil, runtime.Errorf(runtime.HostConfigInvalid, "--timeout %v: want more than 0", f.timeout)
	}
	if n := f.stdinUses(path); n > 1 {
		return nil, runtime.Errorf(runtime.HostConfigInvalid, "standard input is named %d times by -", n)
	}
	event, failed := readEvent(cmd.InOrStdin(), f.event)
	if failed != nil {
		return nil, failed
	}
	source, err := readSource(cmd.InOrStdin(), path)
	if err != nil {
		return nil, runtime.SourceError(err)
	}
	if path == "-" {
		path = "stdin"
	}
	return &runtime.Invocation{
		ID: runtime.NewID(time.Now()), Tenant: id, Script: path, Source: string(source), Event: event,
		Limits: tenant.Limits{Timeout: f.timeout},
	}, nil
}

// scriptRoots returns the folders in which a script finds its modules: those of its
// tenant, as in all hosts. A script that lies elsewhere finds those beside it first.
func scriptRoots(c *config.Config, id tenant.ID, script string) ([]fs.FS, error) {
	roots, err := c.ScriptRoots(id)
	if err != nil {
		return nil, err
	}
	if own := c.Tenants[string(id)].Scripts; own != "" && script != "-" && isInside(script, own) {
		return roots, nil
	}
	beside, err := os.OpenRoot(filepath.Dir(script))
	if err != nil {
		return nil, err
	}
	return append([]fs.FS{beside.FS()}, roots...), nil
}

// isInside reports whether a file lies in a folder or below it.
func isInside(file, folder string) bool {
	file, err1 := filepath.Abs(file)
	folder, err2 := filepath.Abs(folder)
	path, err := filepath.Rel(folder, file)
	return errors.Join(err1, err2, err) == nil && filepath.IsLocal(path)
}

// stdinUses counts the flags and arguments that name standard input.
func (f runFlags) stdinUses(path string) (n int) {
	for _, name := range append(slices.Collect(maps.Values(f.streams)), path, f.event) {
		if name == "-" {
			n++
		}
	}
	return n
}

// sourceBytesMax is what is read of a script; the compiler's limit is lower.
const sourceBytesMax = 1 << 20

// readSource reads a script, - is standard input, without the mark that some
// editors put before a text: the compiler counts columns without it.
func readSource(stdin io.Reader, path string) (source []byte, err error) {
	if path == "-" {
		source, err = io.ReadAll(io.LimitReader(stdin, sourceBytesMax))
	} else {
		source, err = readFile(path, sourceBytesMax)
	}
	return bytes.TrimPrefix(source, []byte("\ufeff")), err
}

// readFile reads a file, but no more than max bytes: a device may have no end.
func readFile(path string, max int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, max))
}

// readEvent reads the event that --event names.
func readEvent(stdin io.Reader, event string) (any, *runtime.Error) {
	var text []byte
	var err error
	switch {
	case event == "-":
		text, err = io.ReadAll(io.LimitReader(stdin, runtime.EventBytesMax+1))
	case len(event) > 0 && event[0] == '@':
		text, err = readFile(event[1:], runtime.EventBytesMax+1)
	default:
		text = []byte(event)
	}
	if err != nil {
		return nil, runtime.Errorf(runtime.EventInvalid, "%v", err)
	}
	value, failed := runtime.ParseEvent(text)
	if failed != nil && event[0] != '@' && isFile(event) {
		failed.Message += fmt.Sprintf("; did you mean the file, --event @%s?", event)
	}
	return value, failed
}

// isFile reports whether an event that isn't JSON names a file, or looks like a
// file's name.
func isFile(event string) bool {
	_, err := os.Stat(event)
	return err == nil || len(event) < 256 && filepath.Ext(event) == ".json"
}
