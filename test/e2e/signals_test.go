package e2e

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// held logs that it holds the lock, and keeps it.
const held = `return native.lock.with("job", { lease_ms = 50000 }, function()
	print("held")
	while true do pcall(native.sleep, 10) end
end)`

// tryLock returns whether the lock can be acquired without a wait.
const tryLock = `return (native.lock.with("job", function() end))`

func TestSignalStopsScriptAndReleasesLock(t *testing.T) {
	for _, test := range []struct {
		signal syscall.Signal
		code   int
		kind   string
	}{
		{syscall.SIGINT, 130, "Script.Cancelled: cancelled: interrupted by the operator"},
		{syscall.SIGTERM, 143, "Host.Shutdown: the host is shutting down"},
		{syscall.SIGHUP, 143, "Host.Shutdown: the host is shutting down"},
	} {
		t.Run(test.signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "held.lua", held)
			write(t, dir, "once.lua", tryLock)
			p := start(t, checked, dir, "held.lua")
			p.until("held")
			if got := run(t, checked, dir, "once.lua"); got != "false" {
				t.Fatalf("got %s, want false: the lock is held", got)
			}
			p.Process.Signal(test.signal)
			code, stdout := p.end()
			if code != test.code || stdout != "" {
				t.Errorf("got exit code %d and output %q, want %d and none", code, stdout, test.code)
			}
			if !slices.Contains(p.logged, test.kind) || !strings.Contains(p.logged[len(p.logged)-1], "held.lua:") {
				t.Errorf("got %q, want %q and where the script was", p.logged, test.kind)
			}
			if got := run(t, checked, dir, "once.lua"); got != "true" {
				t.Errorf("got %s, want true: the lock is free at once", got)
			}
		})
	}
}

// While another connection writes to the file, the release has to wait.
func TestSecondSignalEndsProcessAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "held.lua", held)
	p := start(t, checked, dir, "held.lua")
	p.until("held")
	unblock := block(t, filepath.Join(dir, "tidelock.db"))
	defer unblock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for p.Process.Signal(syscall.SIGINT) == nil {
			<-tick.C
		}
	}()
	p.end()
	<-ended
	if status := p.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("got %v, want an end by the signal\n%s", p.ProcessState, p.log())
	}
}

// block locks a database against writes.
func block(t *testing.T, file string) (unblock func()) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		conn.Close()
		db.Close()
	}
}
