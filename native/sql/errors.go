package sql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Codes of the errors that native.sql raises.
const (
	CodeFailed      = "sql_failed"      // the server, or we, refused the statement
	CodeUnavailable = "sql_unavailable" // the server can't be reached or used
	CodeUnknown     = "sql_unknown"     // a write was sent, and nobody knows whether it was applied
	CodeConflict    = "sql_conflict"    // another transaction was in the way
	CodeUnique      = "sql_unique"      // a row with this key is there
	CodeBusy        = "sql_busy"        // no connection, or no lock, was had in time
	CodeTooLarge    = "sql_too_large"   // a row or result is over its limit
	CodeClosed      = "sql_closed"      // the loop or transaction is over
)

// The verbs, as errors name them.
const (
	opOpen        = "open"
	opQuery       = "query"
	opEach        = "each"
	opStream      = "stream"
	opExec        = "exec"
	opTransaction = "transaction"
)

// ended is how a call fails whose end has passed before it has sent anything.
// Nobody sees it: the run raises that end.
func ended() error {
	return &outcome.Error{Code: CodeFailed, Message: "the call has come to its end", Applied: outcome.AppliedNo}
}

// Unknown says whether err leaves open what became of a write.
func Unknown(err error) bool {
	known, ok := errors.AsType[*outcome.Error](err)
	return err != nil && (!ok || known.Applied == outcome.AppliedUnknown)
}

// codes are those of the kinds of trouble that a server tells of.
var codes = map[Kind]outcome.Error{
	Refused:     {Code: CodeFailed},
	Denied:      {Code: CodeUnavailable},
	Conflict:    {Code: CodeConflict, Retryable: true},
	Unique:      {Code: CodeUnique},
	Busy:        {Code: CodeBusy, Retryable: true},
	Unavailable: {Code: CodeUnavailable, Retryable: true},
}

// trouble is a driver's error as scripts see it. c is the call of the session
// that has failed, and writes says whether it may have changed something.
func (s *session) trouble(op string, err error, c *call, writes bool) error {
	p := s.pool
	f := p.driver.Classify(err)
	e := outcome.Error{Op: op, Key: p.name, Cause: p.cause(err)}
	switch {
	case s.link.over.Load():
		e.Code, e.Message = CodeTooLarge, p.tooLarge()
		e.Applied = applied(writes, true)
	case c.held.Load() && !c.sent.Load():
		return ended()
	case f.Kind == NoResponse && writes && c.sent.Load(), f.Kind == Unavailable && writes:
		e.Code, e.Applied = CodeUnknown, outcome.AppliedUnknown
		e.Message = fmt.Sprintf("the connection to %s broke off: whether the statement was carried out is not known", p.place())
	case f.Kind == NoResponse:
		e.Code, e.Retryable = CodeUnavailable, true
		e.Message = fmt.Sprintf("the connection to %s broke off", p.place())
		e.Applied = applied(writes, false)
	default:
		e.Code, e.Retryable = codes[f.Kind].Code, codes[f.Kind].Retryable
		e.Message = p.said(f)
		e.Applied = applied(writes, false)
	}
	return &e
}

func applied(writes, sent bool) string {
	switch {
	case !writes:
		return ""
	case sent:
		return outcome.AppliedUnknown
	}
	return outcome.AppliedNo
}

// said is what the server has said.
func (p *pool) said(f Failure) string {
	text := p.secrets.message(f.Message)
	if f.State != "" {
		text = "SQLSTATE " + f.State + ": " + text
	}
	return text
}

// notConnected is the error of an attempt to open a session.
func (p *pool) notConnected(err error) error {
	e := outcome.Error{Code: CodeUnavailable, Retryable: true, Key: p.name, Cause: p.cause(err)}
	f := p.driver.Classify(err)
	switch {
	case f.Kind == Denied || f.Kind == Refused:
		e.Retryable = false
		e.Message = fmt.Sprintf("%s refused the connection: %s", p.place(), p.said(f))
	case f.Kind != NoResponse:
		e.Message = fmt.Sprintf("%s refused the connection: %s", p.place(), p.said(f))
	default:
		why, retryable := unreachable(err)
		e.Retryable = retryable
		e.Message = fmt.Sprintf("can't connect to %s: %s", p.place(), why)
	}
	return &e
}

// unreachable says why a server can't be reached, without naming addresses, and
// whether that may change.
func unreachable(err error) (why string, retryable bool) {
	var name *net.DNSError
	var forbidden *blocked
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var host x509.HostnameError
	switch {
	case errors.As(err, &forbidden):
		return "the host forbids its address", false
	case errors.As(err, &host):
		return "its certificate is for another name", false
	case errors.As(err, &certificate):
		return "its certificate is not trusted", false
	case errors.As(err, &record), errors.As(err, &alert):
		return "no TLS connection can be made", false
	case errors.As(err, &name):
		return "its name can't be resolved", true
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there", true
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time", true
	case errors.Is(err, syscall.ENOENT):
		return "there is no such socket", true
	}
	return "the connection failed", true
}

// place is where the server is, as the configuration says it.
func (p *pool) place() string {
	if p.connection.File != "" {
		return fmt.Sprintf("the file of %q", p.name)
	}
	return fmt.Sprintf("%q", p.connection.Host)
}

// cause keeps of an error only its text, without the secrets: drivers keep
// their whole configuration in some.
func (p *pool) cause(err error) error { return errors.New(p.secrets.clean(err.Error())) }

func (p *pool) tooLarge() string {
	return fmt.Sprintf("a row or result has more than %d bytes", p.db.options.ResultBytesMax)
}

// unsent is the error of a call that had no connection to send anything over.
func unsent(err error, op string, writes bool) error {
	known, ok := errors.AsType[*outcome.Error](err)
	if !ok {
		return err
	}
	named := *known
	named.Op, named.Applied = op, applied(writes, false)
	return &named
}
