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

// stopped is the clock of a process that can be stopped for a while.
type stopped struct {
	clock.Clock
	by atomic.Int64
}

func (c *stopped) Now() clock.Instant {
	now := c.Clock.Now()
	now.Wall = now.Wall.Add(time.Duration(c.by.Load()))
	return now
}

func TestBytesAreHeldBackWhenTheProcessWasStoppedRightBeforeThem(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go io.Copy(io.Discard, server)
	l := newLink(nil, 1000)
	w := &wire{client, l}
	clk := &stopped{Clock: clock.System()}
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clk), Limits: vm.Limits{Timeout: time.Minute}})
	defer run.Close()
	ctx := run.Context()
	defer ctx.Stop()
	c := l.begin(ctx)
	if _, err := w.Write([]byte("BEGIN")); err != nil || !c.sent.Load() || c.held.Load() {
		t.Errorf("before: %v", err)
	}
	c = l.begin(ctx)
	clk.by.Store(int64(time.Hour))
	if n, err := w.Write([]byte("DELETE")); n != 0 || !errors.Is(err, errHeldBack) || c.sent.Load() || !c.held.Load() {
		t.Errorf("after: %d bytes, %v", n, err)
	}
	// What is undone after the end still goes out.
	c = l.begin(clock.Detach(ctx))
	if _, err := w.Write([]byte("ROLLBACK")); err != nil || !c.sent.Load() {
		t.Errorf("undoing: %v", err)
	}
}

func TestAnAnswerIsNotReadBeyondWhatIsAllowed(t *testing.T) {
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
	l := newLink(nil, 1000)
	w := &wire{client, l}
	buffer := make([]byte, 400)
	for i, allow := range []bool{false, true, false} {
		if allow {
			l.allow()
		}
		if _, err := w.Read(buffer); err != nil {
			t.Fatalf("read %d: %v", i, err)
		}
	}
	if _, err := w.Read(buffer); !errors.Is(err, errTooLarge) || !l.over.Load() {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsDialledOnceTheLinkIsCut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l := newLink(nil, 1000)
	conn, err := l.dial(context.Background(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.cut()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want the connection to be closed", err)
	}
	if _, err := l.dial(context.Background(), "tcp", listener.Addr().String()); !errors.Is(err, errCut) {
		t.Errorf("got %v", err)
	}
}
