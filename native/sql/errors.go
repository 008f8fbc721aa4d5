package sql

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"unicode"

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
	e := outcome.Error{Op: op, Key: p.name, Cause: cause(err)}
	switch {
	case s.conn.exceeded.Load():
		e.Code, e.Message = CodeTooLarge, p.tooLarge()
		e.Applied = applied(writes, true)
	case c.held.Load() && !c.sent.Load():
		return callEnded()
	case f.Kind == NoResponse && writes && c.sent.Load(), f.Kind == Unavailable && writes:
		e.Code, e.Applied = CodeUnknown, outcome.AppliedUnknown
		e.Message = "whether the statement was carried out is not known: " + cmp.Or(f.Reason, "the connection broke off, or the answer made no sense")
	case f.Kind == NoResponse:
		e.Code, e.Retryable = CodeUnavailable, true
		e.Message = "the connection broke off, or the answer made no sense"
		e.Applied = applied(writes, false)
	default:
		if f.Kind == Denied && p.connection.File == "" {
			f.Kind = Refused // the session is open: what is denied is the statement
		}
		e.Code, e.Retryable = codes[f.Kind].Code, codes[f.Kind].Retryable
		e.Message = f.text(true, "the server refused the statement; only the log of the host has its text")
		if h, ok := errors.AsType[*Hinted](err); ok {
			e.Message += "; " + h.Hint
		}
		e.Applied = applied(writes, false)
		if f.Message != "" {
			return &e // a script has caused it, and sees it: an operator needs no record
		}
	}
	return p.report(&e)
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

// text returns a failure as scripts may see it: its numbers, and a text of the
// driver, or in the phase of statements what may be shown of the server's.
func (f Failure) text(statement bool, otherwise string) string {
	text := f.Reason
	if statement && f.Message != "" {
		text = printable(f.Message)
	}
	if text == "" {
		text = otherwise
		if f.Number != 0 {
			text = fmt.Sprintf("error %d: %s", f.Number, text)
		}
	}
	if f.State != "" {
		text = "SQLSTATE " + f.State + ": " + text
	}
	return text
}

// messageMax is the most of a server's message that is shown, in bytes.
const messageMax = 1000

// printable returns a server's message as one line of text.
func printable(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > messageMax {
		text = strings.ToValidUTF8(text[:messageMax], "") + "..."
	}
	return text
}

// connectError returns the error of an attempt to open a session. Servers name
// users, databases and addresses there, so nothing of their texts is shown.
func (p *pool) connectError(err error, secret Secret) error {
	e := outcome.Error{Code: CodeUnavailable, Retryable: true, Key: p.name, Cause: connectCause(err, secret)}
	switch f := p.driver.Classify(err); f.Kind {
	case NoResponse:
		why, retryable := unreachable(err)
		e.Retryable, e.Message = retryable, "can't connect to the server: "+why
	default:
		e.Retryable = f.Kind != Denied && f.Kind != Refused
		e.Message = "the server refused the connection: " + f.text(false, "only the log of the host has its text")
	}
	return p.report(&e)
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

// cause returns an error with the text of err, and nothing else of it: some
// errors of drivers contain their whole configuration.
func cause(err error) error { return errors.New(err.Error()) }

// credentials matches a user and a password in a connection string, which has
// come into the name of a user or database by mistake.
var credentials = regexp.MustCompile(`:[^\s:@/]+@`)

// connectCause is [cause] for an error of an attempt to open a session. No script
// influences its text, so a text that contains the password may be dropped.
func connectCause(err error, secret Secret) error {
	text := credentials.ReplaceAllString(err.Error(), ":***@")
	for _, form := range []string{string(secret), url.QueryEscape(string(secret)), url.PathEscape(string(secret)), strconv.Quote(string(secret))} {
		if secret != "" && strings.Contains(text, strings.Trim(form, `"`)) {
			return errors.New("the text of this error contains the password")
		}
	}
	return errors.New(text)
}

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
