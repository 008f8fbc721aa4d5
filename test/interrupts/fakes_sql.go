package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/tenant"
)

func (p *probe) databases(clk *clock.Dual) *sql.DB {
	return sql.New(sql.Options{
		Clock:   clk,
		Drivers: map[string]sql.Driver{"test": fakeDriver{p}},
		Connections: func(tenant.ID) map[string]sql.Connection {
			all := map[string]sql.Connection{"one": {Driver: "test", Host: "one", MaxOpen: 1}}
			for _, name := range []string{"db", "unreachable", "no-begin", "no-commit", "uncancellable"} {
				all[name] = sql.Connection{Driver: "test", Host: name, MaxOpen: openMax}
			}
			return all
		},
	})
}

// fakeDriver connects to servers that are named for what they do not do. The
// last word of a statement names how they answer it.
type fakeDriver struct{ probe *probe }

var _ sql.Driver = fakeDriver{}

func (d fakeDriver) Connect(ctx context.Context, t sql.Target) (sql.Session, error) {
	if t.Host == "unreachable" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &session{probe: d.probe, host: t.Host, stopped: make(chan struct{})}, nil
}

var (
	errCanceled = errors.New("canceled on the user's request")
	errBroken   = errors.New("the connection broke off")
)

func (fakeDriver) Classify(err error) sql.Failure {
	if errors.Is(err, errCanceled) {
		return sql.Failure{Kind: sql.Refused, State: "57014", Message: err.Error()}
	}
	return sql.Failure{}
}

// session stalls until it is canceled, or for "uncancellable" until its
// connection is broken.
type session struct {
	probe   *probe
	host    string
	once    sync.Once
	cause   error         // set before stopped is closed
	stopped chan struct{} // closed when the session has become unusable
}

func (s *session) stop(cause error) {
	s.once.Do(func() {
		s.cause = cause
		close(s.stopped)
	})
}

func (s *session) stall() error {
	<-s.stopped
	return s.cause
}

func (s *session) Query(text string, _ []any) (sql.Rows, error) {
	behavior := s.receive(text)
	if behavior == "silent" {
		return nil, s.stall()
	}
	return &fakeRows{session: s, behavior: behavior}, nil
}

func (s *session) Exec(text string, _ []any) (sql.Result, error) {
	if s.receive(text) == "silent" {
		return sql.Result{}, s.stall()
	}
	return sql.Result{Affected: 1}, nil
}

func (s *session) receive(text string) (behavior string) {
	s.probe.requestWritten()
	return text[strings.LastIndexByte(text, ' ')+1:]
}

func (s *session) Begin(bool) error {
	s.probe.requestWritten()
	if s.host == "no-begin" {
		return s.stall()
	}
	return nil
}

func (s *session) Commit() error {
	s.probe.requestWritten()
	if s.host == "no-commit" {
		return s.stall()
	}
	return nil
}

func (s *session) Rollback() error { return nil }
func (s *session) Reset() error    { return nil }
func (s *session) Ping() error     { return nil }

func (s *session) Cancel(context.Context) {
	if s.host != "uncancellable" {
		s.stop(errCanceled)
	}
}

func (s *session) Break()                      { s.stop(errBroken) }
func (s *session) Close(context.Context, bool) { s.stop(errBroken) }

// fakeRows are three rows, or one and then no answer, or rows without end.
type fakeRows struct {
	session  *session
	behavior string
	n        int
}

func (r *fakeRows) Columns() []string { return []string{"n"} }

func (r *fakeRows) Next(row []sql.Value) error {
	switch r.n++; {
	case r.behavior == "half" && r.n > 1:
		return r.session.stall()
	case r.behavior == "quick" && r.n > 3:
		return io.EOF
	}
	row[0] = sql.Number(float64(r.n))
	return nil
}
