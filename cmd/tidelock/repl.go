package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/peterh/liner"
	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/cmd/internal/repl"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/check"
	"github.com/tidelock-lua/tidelock/tenant"
)

func replCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "repl",
		Short: "Evaluate what is typed, line after line",
		Long: `Evaluate what is typed, line after line, with all that scripts have. What isn't
finished goes on in the next line; variables that aren't local last until the
end. Each evaluation ends after 30 s, or by Ctrl-C. Ctrl-D ends.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runREPL(cmd, name) },
	}
	cmd.Flags().StringVar(&name, "tenant", "dev", "tenant for whom it is evaluated")
	cmd.Flags().StringSlice("allow-net", nil, "HOST that native.http may reach (see docs/http.md)")
	addDBFlags(cmd.Flags())
	return cmd
}

// sessionMax is how long a session lasts at most.
const sessionMax = 24 * time.Hour

func runREPL(cmd *cobra.Command, name string) error {
	id, err := tenant.Parse(name)
	if err != nil {
		return err
	}
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	log := newLog(c)
	ctx, stop := endedBy(cmd.Context(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	keys := newInterruptKey(ctx)
	defer keys.stop()
	var console repl.Console = &pipedConsole{interruptKey: keys, lines: bufio.NewReader(cmd.InOrStdin()), out: cmd.OutOrStdout()}
	if in, ok := cmd.InOrStdin().(*os.File); ok && isTerminal(in) {
		names, err := scriptNames(cmd.Context(), c, log)
		if err != nil {
			return err
		}
		editor := newLineEditor(cmd.OutOrStdout(), names)
		editor.interruptKey = keys
		defer editor.close()
		console = editor
	}
	observers, done, err := newTraceObservers(cmd.Context(), c, log)
	if err != nil {
		return err
	}
	defer done()
	program, err := newProgram(c, log, wire.Config{Modules: []native.Module{repl.Module(console)}, Observers: observers})
	if err != nil {
		return err
	}
	defer program.Close()
	inv := &runtime.Invocation{
		ID: runtime.NewID(time.Now()), Tenant: id, Script: "repl", Source: repl.Source(), Limits: c.TenantLimits(id),
	}
	inv.Limits.Timeout, inv.Limits.Instructions = sessionMax, 0
	inv.Log = wire.ScriptLog(log, inv)
	if result := program.Engine.Run(keys.session, *inv); result.Error != nil {
		return reportFailure(cmd, result.Error, nil)
	}
	return nil
}

// interruptKey is what Ctrl-C does: it interrupts the evaluation, so that what was
// typed before is not lost, and ends the session only if there is none.
type interruptKey struct {
	session context.Context
	end     context.CancelCauseFunc
	signals chan os.Signal

	mu        sync.Mutex // guards interrupt
	interrupt context.CancelFunc
}

// newInterruptKey returns one for a session that ends with ctx.
func newInterruptKey(ctx context.Context) *interruptKey {
	k := &interruptKey{signals: make(chan os.Signal, 1)}
	k.session, k.end = context.WithCancelCause(ctx)
	notifySignals(k.signals, syscall.SIGINT)
	go func() {
		for {
			select {
			case <-k.signals:
				k.press()
			case <-k.session.Done():
				return
			}
		}
	}()
	return k
}

func (k *interruptKey) press() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.interrupt == nil {
		k.end(errInterrupted)
		return
	}
	k.interrupt()
}

func (k *interruptKey) stop() {
	signal.Stop(k.signals)
	k.end(nil)
}

// Evaluating begins an evaluation that Ctrl-C interrupts.
func (k *interruptKey) Evaluating() (ctx context.Context, done func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx, k.interrupt = context.WithCancel(k.session)
	return ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.interrupt()
		k.interrupt = nil
	}
}

// pipedConsole reads lines from a pipe or a file.
type pipedConsole struct {
	*interruptKey
	lines *bufio.Reader
	out   io.Writer
}

func (p *pipedConsole) ReadLine(string) (string, bool) {
	line, err := p.lines.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err == nil || line != ""
}

func (p *pipedConsole) Print(text string) { fmt.Fprintln(p.out, printable(text)) }

// lineEditor reads lines from a terminal, with a history and completion.
type lineEditor struct {
	*liner.State
	*interruptKey
	out     io.Writer
	history string // file; "" for none
}

func newLineEditor(out io.Writer, names check.Names) *lineEditor {
	e := &lineEditor{State: liner.NewLiner(), out: out}
	e.SetMultiLineMode(true)
	e.SetWordCompleter(func(line string, at int) (string, []string, string) { return complete(names, line, at) })
	if dir, err := os.UserCacheDir(); err == nil {
		e.history = filepath.Join(dir, "tidelock", "history")
		if f, err := os.Open(e.history); err == nil {
			_, _ = e.ReadHistory(f) // a history is a convenience
			f.Close()
		}
	}
	return e
}

func (e *lineEditor) ReadLine(prompt string) (string, bool) {
	line, err := e.Prompt(prompt)
	if err == nil && strings.TrimSpace(line) != "" {
		e.AppendHistory(line)
	}
	return line, err == nil
}

func (e *lineEditor) Print(text string) { fmt.Fprintln(e.out, printable(text)) }

func (e *lineEditor) close() {
	_ = e.Close()
	if e.history == "" || os.MkdirAll(filepath.Dir(e.history), 0o700) != nil {
		return
	}
	if f, err := os.OpenFile(e.history, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err == nil {
		_, _ = e.WriteHistory(f)
		f.Close()
	}
}

// complete completes the path of names that ends at a place of a line.
func complete(names check.Names, line string, at int) (head string, words []string, tail string) {
	from := at
	for from > 0 && (line[from-1] == '.' || line[from-1] == '_' || isWord(line[from-1])) {
		from--
	}
	path := strings.Split(line[from:at], ".")
	for _, name := range path[:len(path)-1] {
		names = names[name]
	}
	before := strings.TrimSuffix(line[from:at], path[len(path)-1])
	for name := range names {
		if strings.HasPrefix(name, path[len(path)-1]) {
			words = append(words, before+name)
		}
	}
	slices.Sort(words)
	return line[:from], words, line[at:]
}

func isWord(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z' }
