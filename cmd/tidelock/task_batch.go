package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
	"github.com/tidelock-lua/tidelock/task/batch"
)

// batchFlags are the flags of tidelock task batch.
type batchFlags struct {
	concurrency int
	ordered     bool
}

func taskBatchCommand() *cobra.Command {
	var f batchFlags
	cmd := &cobra.Command{
		Use:   "batch [FILE|-]",
		Short: "Run the invocations of a file, one JSON object a line",
		Long: `Run the invocations of a file, or of standard input, one JSON object a line:

  {"id": 1, "tenant": "acme", "script": "import", "event": {...}}

Each has one line on standard output as it finishes, with its id and line, and
ok with a value or an error. A signal ends the reading: what runs finishes, what
was read but not started is answered with not_started. A second signal cancels
what runs.

The exit code is 0 if all succeeded, 1 if some failed, 143 after a signal.`,
		Example: "  tidelock task batch jobs.jsonl --concurrency 32 > results.jsonl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "-"
			if len(args) > 0 {
				name = args[0]
			}
			return runBatch(cmd, name, f)
		},
	}
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 16, "how many scripts run at once")
	cmd.Flags().BoolVar(&f.ordered, "ordered", false, "write results in the order of their lines")
	return cmd
}

func runBatch(cmd *cobra.Command, name string, f batchFlags) error {
	if f.concurrency < 1 {
		return errors.New("--concurrency: want 1 or more")
	}
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	tenants, err := c.Directory()
	if err != nil {
		return err
	}
	in, size, err := openBatch(cmd, name)
	if err != nil {
		return err
	}
	defer in.Close()
	log, progress, endProgress := newLog(c), func(batch.Summary) {}, func() {}
	if isTerminal(os.Stderr) && !isTerminal(cmd.OutOrStdout()) {
		var above io.Writer
		above, progress, endProgress = progressBar(size)
		log = wire.NewLog(terminalLog{above}, true).WithOptions(zap.IncreaseLevel(wire.Level(c.Log.Level)))
	}
	observers, done, err := newTraceObservers(cmd.Context(), c, log)
	if err != nil {
		return err
	}
	defer done()
	program, err := newProgram(c, log, wire.Config{HostKind: "task", Observers: observers})
	if err != nil {
		return err
	}
	defer program.Close()
	forceStop := make(chan struct{})
	ctx, stop := stoppable(cmd.Context(), log, sync.OnceFunc(func() { close(forceStop) }), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	sum, err := batch.Run(ctx, batch.Config{
		Engine: program.Engine, Tenants: tenants, Concurrency: f.concurrency, Ordered: f.ordered,
		StopTimeout: c.Task.StopTimeout.Value(), ForceStop: forceStop, Progress: progress,
		RunLog:   func(inv *runtime.Invocation) native.Logger { return wire.ScriptLog(log, inv) },
		Incident: func(err error) { runlog.Incidents(log, err) },
	}, in, cmd.OutOrStdout())
	endProgress()
	log.Info("batch ended", zap.Int("succeeded", sum.OK), zap.Int("failed", sum.Failed), zap.Bool("interrupted", ctx.Err() != nil), zap.Error(err))
	switch {
	case ctx.Err() != nil:
		return exitCode(runtime.HostShutdown.ExitCode())
	case err != nil:
		return fail(cmd, err)
	case sum.Failed > 0:
		return exitFailed
	}
	return nil
}

// openBatch opens what is to be run; size is 0 if that isn't known.
func openBatch(cmd *cobra.Command, name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return file, size, nil
}

// progressBar draws on standard error how much of size bytes is done. Text that
// is to stand above it is written to above.
func progressBar(size int64) (above io.Writer, progress func(batch.Summary), end func()) {
	p := mpb.New(mpb.WithOutput(os.Stderr))
	var mu sync.Mutex // guards sum
	var sum batch.Summary
	counts := decor.Any(func(decor.Statistics) string {
		mu.Lock()
		defer mu.Unlock()
		return countsOf(sum)
	})
	bar := p.AddBar(size, mpb.PrependDecorators(counts), mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO)))
	return p, func(s batch.Summary) {
			mu.Lock()
			sum = s
			mu.Unlock()
			bar.SetCurrent(s.Bytes)
		}, func() {
			bar.Abort(false)
			p.Wait()
		}
}

func countsOf(s batch.Summary) string {
	return strconv.Itoa(s.OK) + " ok, " + strconv.Itoa(s.Failed) + " failed "
}
