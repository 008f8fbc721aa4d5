package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Codes of the errors that native.http raises.
const (
	CodeURL      = "net_url"       // what was asked for is no URL
	CodeBlocked  = "net_blocked"   // not allowed
	CodeDNS      = "net_dns"       // the name leads nowhere, or nobody says where
	CodeRefused  = "net_refused"   // nobody listens there
	CodeTLS      = "net_tls"       // no agreement on TLS, or no trust
	CodeTimeout  = "net_timeout"   // it took too long
	CodeTooLarge = "net_too_large" // the answer is over a limit
	CodeBusy     = "net_busy"      // the tenant has too many requests under way
	CodeFailed   = "net_failed"    // anything else
)

// errTimeout ends an exchange whose own time is over.
var errTimeout = errors.New("timeout")

func busy(max int) error {
	return &outcome.Error{Code: CodeBusy, Retryable: true, Message: fmt.Sprintf("%d requests are under way, which is the most", max)}
}

func notListed(t target) error {
	return &outcome.Error{Code: CodeBlocked, Message: fmt.Sprintf("%s is not on the list of what may be reached", t)}
}

func sentTooLarge(n int, max int64) error {
	return &outcome.Error{Code: CodeTooLarge, Message: fmt.Sprintf("a body of %d bytes, want at most %d", n, max)}
}

func (x *exchange) redirectedAway() error {
	return &outcome.Error{Code: CodeBlocked, Message: fmt.Sprintf("%s redirects to what may not be reached", x.first)}
}

func (x *exchange) tooManyRedirects() error {
	return &outcome.Error{Code: CodeFailed, Message: fmt.Sprintf("%s redirects more than %d times", x.first, x.req.Redirects)}
}

func (x *exchange) tooLarge(max int64) error {
	return x.trouble(&outcome.Error{Code: CodeTooLarge, Message: fmt.Sprintf("the body of %s has more than %d bytes", x.first, max)})
}

// about says what an error that came before anything was sent is about.
func about(err error, r *Request, t target) error {
	known, ok := errors.AsType[*outcome.Error](err)
	if !ok {
		return err
	}
	known.Op, known.Key, known.Applied = r.Op, t.String(), appliedNo(r)
	return known
}

func appliedNo(r *Request) string {
	if !IsSafe(r.Method) {
		return outcome.AppliedNo
	}
	return ""
}

// trouble tells a script what has gone wrong, by the host that it asked for.
func (x *exchange) trouble(err error) error {
	e, ok := errors.AsType[*outcome.Error](err)
	if !ok {
		e = x.diagnose(err)
		if e.Code == CodeBlocked {
			x.client.countBlocked(x.id)
		}
	}
	e.Op, e.Key = x.req.Op, x.first.String()
	switch {
	case IsSafe(x.req.Method) || x.last != nil && (x.last.answered || x.last.safe):
	case x.last == nil || !x.last.sent.Load():
		if !x.begun { // else a redirect was the answer
			e.Applied = outcome.AppliedNo
		}
	default:
		e.Applied, e.Retryable = outcome.AppliedUnknown, false
	}
	return e
}

func (x *exchange) diagnose(err error) *outcome.Error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // without the URL, whose query may be a secret
	}
	say := func(code string, retryable bool, format string, args ...any) *outcome.Error {
		return &outcome.Error{Code: code, Retryable: retryable, Message: x.first.String() + " " + fmt.Sprintf(format, args...), Cause: err}
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	netErr, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(context.Cause(x.ctx), errTimeout):
		return say(CodeTimeout, true, "took longer than %d ms", x.timeout().Milliseconds())
	case errors.Is(err, errDenied):
		return say(CodeBlocked, false, "leads to an address that may not be reached")
	case isDNS && dns.IsNotFound:
		return say(CodeDNS, false, "is no name that anybody knows")
	case isDNS:
		return say(CodeDNS, true, "could not be looked up")
	case errors.Is(err, syscall.ECONNREFUSED):
		return say(CodeRefused, true, "refuses connections")
	case isTLS(err):
		return say(CodeTLS, false, "can't be trusted: TLS has failed")
	case isNet && netErr.Timeout():
		return say(CodeTimeout, true, "can't be reached in time")
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return say(CodeTooLarge, false, "answers with a header of more than %d bytes", headerBytes)
	}
	return say(CodeFailed, true, "did not answer, or not as HTTP wants it")
}

// isTLS says whether it was TLS that failed.
func isTLS(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noRecord := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, wrongName := errors.AsType[x509.HostnameError](err)
	return untrusted || noRecord || alert || wrongName || errors.Is(err, nethttp.ErrSchemeMismatch) ||
		strings.HasPrefix(err.Error(), "tls: ") || strings.HasPrefix(err.Error(), "remote error: tls: ")
}
