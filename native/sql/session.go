package sql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// rollbackGrace is how long a rollback may take after the end. It comes after
// [Options.CancelGrace], and both have to lie within 50 ms.
const rollbackGrace = 15 * time.Millisecond

// session is an open connection. One goroutine at a time uses it.
type session struct {
	pool     *pool
	raw      Session
	conn     *netConn
	opened   time.Duration // by ElapsedMax
	lastUsed time.Duration // by ElapsedMax

	unusable bool // not to be used by another call
	busy     bool // the server may still execute a statement
}

// do makes one call of the driver and returns soon after ctx is done. After an
// error that isn't the server's response the session is unusable.
func (s *session) do(ctx context.Context, f func() error) (*call, error) {
	return s.doWith(ctx, s.pool.db.options.CancelGrace, f)
}

// doWith is do with another [Options.CancelGrace].
func (s *session) doWith(ctx context.Context, grace time.Duration, f func() error) (*call, error) {
	c := s.conn.begin(ctx)
	if s.conn.wasCut() {
		return c, errCut
	}
	if ctx.Err() != nil || clock.Ended(ctx) {
		c.held.Store(true)
		return c, errHeldBack
	}
	returned := make(chan struct{})
	working := &s.pool.db.tasks
	working.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer working.Done()
		s.interrupt(returned, grace)
	})
	defer func() {
		close(returned)
		if stop() {
			working.Done()
		} else {
			s.unusable = true
		}
	}()
	err := s.protect(f)
	if err != nil && !s.isResponse(err) {
		s.unusable = true
	}
	return c, err
}

// protect calls f, which calls the driver. Those of servers panic over an answer
// that is shorter than they expect; the session is unusable then, as after any
// other answer that makes no sense.
func (s *session) protect(f func() error) (err error) {
	if s.pool.connection.File == "" {
		defer func() {
			if r := recover(); r != nil {
				err = malformed(r)
			}
		}()
	}
	return f()
}

// malformed returns the error of an answer over which a driver has panicked.
func malformed(panicked any) error { return fmt.Errorf("the answer is malformed: %v", panicked) }

// isResponse reports whether err is what the server has answered.
func (s *session) isResponse(err error) bool { return s.pool.driver.Classify(err).Kind != NoResponse }

// interrupt ends a call: the server is asked to cancel, and if that doesn't make
// the call return in time the connection is cut.
func (s *session) interrupt(returned <-chan struct{}, grace time.Duration) {
	s.pool.db.background(s.cancel)
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-returned:
	case <-late.C:
		s.conn.cut()
		s.raw.Break()
	}
}

// cancel asks the server to stop the statement.
func (s *session) cancel(ctx context.Context) {
	_ = s.protect(func() error { s.raw.Cancel(ctx); return nil }) // the connection is closed if it has no effect
}

// query sends a statement that returns rows.
func (s *session) query(ctx context.Context, op string, st Statement, writes bool) (rows Rows, err error) {
	s.busy = true
	c, err := s.do(ctx, func() error {
		rows, err = s.raw.Query(st.Text, st.Params)
		return err
	})
	if err != nil {
		s.busy = !s.isResponse(err)
		return nil, s.classify(op, err, c, writes)
	}
	return rows, nil
}

// exec sends a statement and waits until it is done.
func (s *session) exec(ctx context.Context, st Statement) (result Result, err error) {
	s.busy = true
	c, err := s.do(ctx, func() error {
		result, err = s.raw.Exec(st.Text, st.Params)
		return err
	})
	if err != nil {
		s.busy = !s.isResponse(err)
		return Result{}, s.classify(opExec, err, c, true)
	}
	s.busy = false
	return result, nil
}

// txControl makes a call that begins or commits a transaction.
func (s *session) txControl(ctx context.Context, op string, writes bool, f func() error) error {
	s.busy = true
	if c, err := s.do(ctx, f); err != nil {
		s.busy = !s.isResponse(err)
		return s.classify(op, err, c, writes)
	}
	s.busy = false
	return nil
}

// rollback rolls the open transaction back. It goes on after the end of the call,
// for rollbackGrace at most; if the connection is closed instead, its server rolls
// back.
func (s *session) rollback(ctx context.Context) {
	if s.busy {
		s.unusable = true
		return
	}
	detached, cancel := context.WithTimeout(clock.Detach(ctx), controlMax)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(rollbackGrace, cancel)
	})
	defer stop()
	if _, err := s.doWith(detached, 0, s.raw.Rollback); err != nil {
		s.unusable = true
	}
}

// reset clears the state of the session for another call.
func (s *session) reset(ctx context.Context) error {
	if s.unusable || s.busy {
		return errors.New("in use")
	}
	_, err := s.do(ctx, s.raw.Reset)
	return err
}

// close ends the session and what the server does for it.
func (s *session) close(ctx context.Context) {
	if s.busy {
		// A cancel request that arrives before the statement has no effect, and a
		// loaded server may be slow to begin the statement.
		s.pool.db.backgroundLater(s.cancel)
	}
	s.conn.call.Store(nil)
	s.conn.limitClose()
	_ = s.protect(func() error { s.raw.Close(ctx, s.busy); return nil }) // the network connection is closed in any case
	s.conn.cut()
}
