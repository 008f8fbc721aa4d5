package sql

import (
	"context"
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// rollbackGrace is how long a rollback may take after the end. It comes after
// [Options.CancelGrace], and both have to lie within 50 ms.
const rollbackGrace = 15 * time.Millisecond

// session is an open connection. One goroutine at a time uses it.
type session struct {
	pool *pool
	raw  Session
	link *link
	born time.Duration // on the fast hand
	idle time.Duration // since when it hasn't been used, on the fast hand

	unusable bool // not to be used by anybody else
	busy     bool // the server is still at a statement, as far as we know
}

// do makes one call of the driver and returns soon after ctx is done. After an
// error that isn't the server's answer the session is unusable.
func (s *session) do(ctx context.Context, f func() error) (*call, error) {
	return s.doWith(ctx, s.pool.db.options.CancelGrace, f)
}

// doWith is do with another patience after the end.
func (s *session) doWith(ctx context.Context, patience time.Duration, f func() error) (*call, error) {
	c := s.link.begin(ctx)
	if s.link.wasCut() {
		return c, errCut
	}
	if ctx.Err() != nil || clock.Ended(ctx) {
		c.held.Store(true)
		return c, errHeldBack
	}
	returned := make(chan struct{})
	working := &s.pool.db.working
	working.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer working.Done()
		s.stop(returned, patience)
	})
	defer func() {
		close(returned)
		if stop() {
			working.Done()
		} else {
			s.unusable = true
		}
	}()
	err := f()
	if err != nil && !s.answered(err) {
		s.unusable = true
	}
	return c, err
}

// answered says whether err is what the server has answered.
func (s *session) answered(err error) bool { return s.pool.driver.Classify(err).Kind != NoResponse }

// stop ends a call that is under way: the server is asked to stop, and if that
// doesn't make the call return in time the connection is cut.
func (s *session) stop(returned <-chan struct{}, patience time.Duration) {
	s.pool.db.background(s.raw.Cancel)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-returned:
	case <-late.C:
		s.link.cut()
		s.raw.Break()
	}
}

// query sends a statement that returns rows.
func (s *session) query(ctx context.Context, op string, st Statement, writes bool) (rows Rows, err error) {
	s.busy = true
	c, err := s.do(ctx, func() error {
		rows, err = s.raw.Query(st.Text, st.Params)
		return err
	})
	if err != nil {
		s.busy = !s.answered(err)
		return nil, s.trouble(op, err, c, writes)
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
		s.busy = !s.answered(err)
		return Result{}, s.trouble(opExec, err, c, true)
	}
	s.busy = false
	return result, nil
}

// step makes a call that changes the state of the transaction.
func (s *session) step(ctx context.Context, op string, writes bool, f func() error) error {
	s.busy = true
	if c, err := s.do(ctx, f); err != nil {
		s.busy = !s.answered(err)
		return s.trouble(op, err, c, writes)
	}
	s.busy = false
	return nil
}

// rollback undoes the open transaction. It goes on after the end of the call,
// but not for longer than rollbackGrace then; a connection that is closed instead is
// rolled back by its server.
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

// reset makes the session as good as new, or closes it.
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
		// A request to stop that is there before the statement comes to nothing, and
		// a busy server may be slow to begin with it.
		s.pool.db.later(s.raw.Cancel)
	}
	s.link.call.Store(nil)
	s.link.hurry()
	s.raw.Close(ctx, s.busy)
	s.link.cut()
}
