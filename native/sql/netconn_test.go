package sql

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// jumpingClock is a clock that can be put forward, as if the process was stopped.
type jumpingClock struct {
	clock.Clock
	by atomic.Int64
}

func (c *jumpingClock) Now() clock.Instant {
	now := c.Clock.Now()
	now.Wall = now.Wall.Add(time.Duration(c.by.Load()))
	return now
}

func TestCheckedConnHoldsBytesBackAfterTheEnd(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go io.Copy(io.Discard, server)
	n := newNetConn(nil, 1000)
	w := &checkedConn{client, n}
	clk := &jumpingClock{Clock: clock.System()}
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clk), Limits: vm.Limits{Timeout: time.Minute}})
	defer run.Close()
	ctx := run.Context()
	defer ctx.Stop()
	c := n.begin(ctx)
	if _, err := w.Write([]byte("BEGIN")); err != nil || !c.sent.Load() || c.held.Load() {
		t.Errorf("before: %v", err)
	}
	c = n.begin(ctx)
	clk.by.Store(int64(time.Hour))
	if written, err := w.Write([]byte("DELETE")); written != 0 || !errors.Is(err, errHeldBack) || c.sent.Load() || !c.held.Load() {
		t.Errorf("after: %d bytes, %v", written, err)
	}
	// A rollback still goes out after the end.
	c = n.begin(clock.Detach(ctx))
	if _, err := w.Write([]byte("ROLLBACK")); err != nil || !c.sent.Load() {
		t.Errorf("rolling back: %v", err)
	}
}

func TestCheckedConnReadsNoMoreThanItsBudget(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go func() {
		for range 4 {
			if _, err := server.Write(make([]byte, 400)); err != nil {
				return
			}
		}
	}()
	n := newNetConn(nil, 1000)
	w := &checkedConn{client, n}
	buffer := make([]byte, 400)
	for i, allow := range []bool{false, true, false} {
		if allow {
			n.resetBudget()
		}
		if _, err := w.Read(buffer); err != nil {
			t.Fatalf("read %d: %v", i, err)
		}
	}
	if _, err := w.Read(buffer); !errors.Is(err, errTooLarge) || !n.exceeded.Load() {
		t.Errorf("got %v", err)
	}
}

func TestNetConnDialsNothingOnceItIsCut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	n := newNetConn(nil, 1000)
	conn, err := n.dial(context.Background(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n.cut()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want the connection to be closed", err)
	}
	if _, err := n.dial(context.Background(), "tcp", listener.Addr().String()); !errors.Is(err, errCut) {
		t.Errorf("got %v", err)
	}
}
