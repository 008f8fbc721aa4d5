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
	CodeFailed      = "sql_failed"      // the server, or this package, refused the statement
	CodeUnavailable = "sql_unavailable" // the server can't be reached or used
	CodeUnknown     = "sql_unknown"     // a write was sent, and whether it was applied is not known
	CodeConflict    = "sql_conflict"    // the statement conflicts with another transaction
	CodeUnique      = "sql_unique"      // a row with this key exists
	CodeBusy        = "sql_busy"        // no connection, or no lock, was free in time
	CodeTooLarge    = "sql_too_large"   // a row or result is over its limit
	CodeClosed      = "sql_closed"      // the loop or transaction is over
)

// The operations, as errors name them.
const (
	opOpen        = "open"
	opQuery       = "query"
	opEach        = "each"
	opStream      = "stream"
	opExec        = "exec"
	opTransaction = "transaction"
)

// callEnded returns the error of a call that ended before it has sent anything. No
// script sees it: the interrupt check raises what has ended the call.
func callEnded() error {
	return &outcome.Error{Code: CodeFailed, Message: "the call has come to its end", Applied: outcome.AppliedNo}
}

// Unknown reports whether the outcome of a write is unknown after err.
func Unknown(err error) bool {
	known, ok := errors.AsType[*outcome.Error](err)
	return err != nil && (!ok || known.Applied == outcome.AppliedUnknown)
}

// codes has the code of each kind of failure that a server reports.
var codes = map[Kind]outcome.Error{
	Refused:     {Code: CodeFailed},
	Denied:      {Code: CodeUnavailable},
	Conflict:    {Code: CodeConflict, Retryable: true},
	Unique:      {Code: CodeUnique},
	Busy:        {Code: CodeBusy, Retryable: true},
	Unavailable: {Code: CodeUnavailable, Retryable: true},
}

// classify returns a driver's error as scripts see it. c is the call of the
// session that has failed, and writes says whether it may have changed
// something.
func (s *session) classify(op string, err error, c *call, writes bool) error {
	p := s.pool
	f := p.driver.Classify(err)
	e := outcome.Error{Op: op, Key: p.name, Cause: p.cause(err)}
	switch {
	case s.conn.exceeded.Load():
		e.Code, e.Message = CodeTooLarge, p.tooLarge()
		e.Applied = applied(writes, true)
	case c.held.Load() && !c.sent.Load():
		return callEnded()
	case f.Kind == NoResponse && writes && c.sent.Load(), f.Kind == Unavailable && writes:
		e.Code, e.Applied = CodeUnknown, outcome.AppliedUnknown
		e.Message = fmt.Sprintf("the connection to %s broke off: whether the statement was carried out is not known", p.location())
	case f.Kind == NoResponse:
		e.Code, e.Retryable = CodeUnavailable, true
		e.Message = fmt.Sprintf("the connection to %s broke off", p.location())
		e.Applied = applied(writes, false)
	default:
		e.Code, e.Retryable = codes[f.Kind].Code, codes[f.Kind].Retryable
		e.Message = p.serverMessage(f)
		e.Applied = applied(writes, false)
	}
	return &e
}

// applied returns the outcome of a statement that has failed, "" if it only reads.
func applied(writes, sent bool) string {
	switch {
	case !writes:
		return ""
	case sent:
		return outcome.AppliedUnknown
	}
	return outcome.AppliedNo
}

// serverMessage returns the server's message as scripts may see it.
func (p *pool) serverMessage(f Failure) string {
	text := p.secrets.message(f.Message)
	if f.State != "" {
		text = "SQLSTATE " + f.State + ": " + text
	}
	return text
}

// connectError returns the error of an attempt to open a session.
func (p *pool) connectError(err error) error {
	e := outcome.Error{Code: CodeUnavailable, Retryable: true, Key: p.name, Cause: p.cause(err)}
	f := p.driver.Classify(err)
	switch {
	case f.Kind == Denied || f.Kind == Refused:
		e.Retryable = false
		e.Message = fmt.Sprintf("%s refused the connection: %s", p.location(), p.serverMessage(f))
	case f.Kind != NoResponse:
		e.Message = fmt.Sprintf("%s refused the connection: %s", p.location(), p.serverMessage(f))
	default:
		why, retryable := unreachable(err)
		e.Retryable = retryable
		e.Message = fmt.Sprintf("can't connect to %s: %s", p.location(), why)
	}
	return &e
}

// unreachable returns why a server can't be reached, without addresses, and
// whether that may change.
func unreachable(err error) (why string, retryable bool) {
	var name *net.DNSError
	var forbidden *blockedError
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

// location returns where the server is, as the configuration names it.
func (p *pool) location() string {
	if p.connection.File != "" {
		return fmt.Sprintf("the file of %q", p.name)
	}
	return fmt.Sprintf("%q", p.connection.Host)
}

// cause returns an error with the text of err, without secrets: some errors of
// drivers contain their whole configuration.
func (p *pool) cause(err error) error { return errors.New(p.secrets.redact(err.Error())) }

func (p *pool) tooLarge() string {
	return fmt.Sprintf("a row or result has more than %d bytes", p.db.options.ResultBytesMax)
}

// notSent returns the error of a call that had no connection to send anything
// over.
func notSent(err error, op string, writes bool) error {
	known, ok := errors.AsType[*outcome.Error](err)
	if !ok {
		return err
	}
	named := *known
	named.Op, named.Applied = op, applied(writes, false)
	return &named
}
