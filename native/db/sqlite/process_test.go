package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// The test binary is also the other process: if this variable is the path of a
// file, it counts in that file.
const countEnv = "TIDELOCK_TEST_COUNT_IN"

const (
	processes  = 8
	increments = 200
)

func TestMain(m *testing.M) {
	if path := os.Getenv(countEnv); path != "" {
		if err := countIn(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// countIn adds 1 to a row by reading and writing it under its revision, and
// reports each time that it did. It counts what the file answers, so a killed
// process may have done one more than it reported.
func countIn(path string) error {
	clk := clock.NewDual(clock.System())
	store, err := sqlite.Open(path, clk, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	d := db.New(store, clk, nil)
	counters, err := d.Open("acme", "counters")
	if err != nil {
		return err
	}
	ctx, scope := context.Background(), &dbtest.RunScope{Left: 1 << 40}
	for done := 0; done < increments; {
		_, err := counters.Update(ctx, scope, "shared", func(row *db.Row) (any, error) {
			if row == nil {
				return 1.0, nil
			}
			return row.Value.(float64) + 1, nil
		})
		var e *outcome.Error
		switch {
		case err == nil:
			done++
			fmt.Println(done)
		case !errors.As(err, &e) || e.Code != db.CodeContention || e.Message != "others kept changing the entry":
			return err
		}
	}
	return nil
}

// counter is one of the processes.
type counter struct {
	cmd      *exec.Cmd
	reported int // increments it reported
	err      error
	done     chan struct{}
}

// startCounter starts a process, which is killed at its killAt-th increment
// if that is not 0.
func startCounter(t *testing.T, path string, killAt int) *counter {
	t.Helper()
	c := &counter{cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), countEnv+"="+path)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.reported, _ = strconv.Atoi(lines.Text())
			if c.reported == killAt {
				c.cmd.Process.Kill()
			}
		}
		c.err = c.cmd.Wait()
	}()
	return c
}

func TestProcessesLoseNoWriteWhenSomeAreKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.db")
	start := time.Now()
	var all []*counter
	for i := range processes {
		killAt := 0
		if i%3 == 2 { // two of eight
			killAt = 20 * i
		}
		all = append(all, startCounter(t, path, killAt))
	}
	reported, killed := 0, 0
	for i, c := range all {
		<-c.done
		reported += c.reported
		if c.err != nil {
			killed++
			if i%3 != 2 {
				t.Errorf("process %d ended with %v after %d increments", i, c.err, c.reported)
			}
		}
	}
	t.Logf("%d increments in %v", reported, time.Since(start))

	clk := dbtest.NewClock()
	f := dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{}), clk)
	row, err := f.Partition("acme", "counters").Get(t.Context(), f.Scope, "shared", false)
	if err != nil || row == nil {
		t.Fatalf("the counter is %v, %v", row, err)
	}
	if got := int(row.Value.(float64)); got < reported || got > reported+killed {
		t.Errorf("the counter is %d, want %d and at most one more for each of %d killed", got, reported, killed)
	}
	if got := query(t, raw(t, path), "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity check says %q", got)
	}
}
