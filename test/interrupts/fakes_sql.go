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
		Drivers: map[string]sql.Driver{"test": driver{p}},
		Connections: func(tenant.ID) map[string]sql.Connection {
			all := map[string]sql.Connection{"one": {Driver: "test", MaxOpen: 1}}
			for _, name := range []string{"db", "unreachable", "no begin", "no commit", "deaf"} {
				all[name] = sql.Connection{Driver: "test", Host: name, MaxOpen: leftMax}
			}
			return all
		},
	})
}

// driver has servers that are named for what they don't do. Of statements they
// read the last word, which says how they answer.
type driver struct{ probe *probe }

var _ sql.Driver = driver{}

func (d driver) Connect(ctx context.Context, t sql.Target) (sql.Session, error) {
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

func (driver) Classify(err error) sql.Failure {
	if errors.Is(err, errCanceled) {
		return sql.Failure{Kind: sql.Refused, State: "57014", Message: err.Error()}
	}
	return sql.Failure{}
}

// session stalls until it is told to stop; "deaf" until it is broken.
type session struct {
	probe   *probe
	host    string
	once    sync.Once
	why     error         // set before stopped is closed
	stopped chan struct{} // it is of no use after that
}

func (s *session) stop(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.stopped)
	})
}

func (s *session) stall() error {
	<-s.stopped
	return s.why
}

func (s *session) Query(text string, _ []any) (sql.Rows, error) {
	how := s.hear(text)
	if how == "silent" {
		return nil, s.stall()
	}
	return &records{session: s, how: how}, nil
}

func (s *session) Exec(text string, _ []any) (sql.Result, error) {
	if s.hear(text) == "silent" {
		return sql.Result{}, s.stall()
	}
	return sql.Result{Affected: 1}, nil
}

func (s *session) hear(text string) (how string) {
	s.probe.wrote()
	return text[strings.LastIndexByte(text, ' ')+1:]
}

func (s *session) Begin(bool) error {
	s.probe.wrote()
	if s.host == "no begin" {
		return s.stall()
	}
	return nil
}

func (s *session) Commit() error {
	s.probe.wrote()
	if s.host == "no commit" {
		return s.stall()
	}
	return nil
}

func (s *session) Rollback() error { return nil }
func (s *session) Reset() error    { return nil }
func (s *session) Ping() error     { return nil }

func (s *session) Cancel(context.Context) {
	if s.host != "deaf" {
		s.stop(errCanceled)
	}
}

func (s *session) Break()                      { s.stop(errBroken) }
func (s *session) Close(context.Context, bool) { s.stop(errBroken) }

// records are three rows; or one, and then no answer; or rows for ever.
type records struct {
	session *session
	how     string
	n       int
}

func (r *records) Columns() []string { return []string{"n"} }

func (r *records) Next(row []sql.Value) error {
	switch r.n++; {
	case r.how == "half" && r.n > 1:
		return r.session.stall()
	case r.how == "quick" && r.n > 3:
		return io.EOF
	}
	row[0] = sql.Number(float64(r.n))
	return nil
}
