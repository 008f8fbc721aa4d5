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
	CodeURL      = "net_url"       // the URL is not valid
	CodeBlocked  = "net_blocked"   // not allowed
	CodeDNS      = "net_dns"       // the name is unknown, or can't be looked up
	CodeRefused  = "net_refused"   // the connection was refused
	CodeTLS      = "net_tls"       // the TLS handshake failed
	CodeTimeout  = "net_timeout"   // it took too long
	CodeTooLarge = "net_too_large" // the request or the response is over a limit
	CodeBusy     = "net_busy"      // the tenant has too many requests in flight
	CodeFailed   = "net_failed"    // anything else
)

// errTimeout ends a fetch whose own timeout is over.
var errTimeout = errors.New("timeout")

func tooManyInFlight(max int) error {
	return &outcome.Error{Code: CodeBusy, Retryable: true, Message: fmt.Sprintf("%d requests are under way, which is the most", max)}
}

func notListed(t target) error {
	return &outcome.Error{Code: CodeBlocked, Message: fmt.Sprintf(
		"%s is not on the list of what may be reached: add it to http.allow in the configuration, or on the command line by --allow-net %[1]s", t)}
}

func requestTooLarge(n int, max int64) error {
	return &outcome.Error{Code: CodeTooLarge, Message: fmt.Sprintf("a body of %d bytes, want at most %d", n, max)}
}

func (f *fetch) redirectedElsewhere() error {
	return &outcome.Error{Code: CodeBlocked, Message: fmt.Sprintf(
		"%s redirects to what may not be reached: a host that isn't in http.allow (--allow-net), or no URL of http or https", f.requested)}
}

func (f *fetch) tooManyRedirects() error {
	return &outcome.Error{Code: CodeFailed, Message: fmt.Sprintf("%s redirects more than %d times", f.requested, f.req.Redirects)}
}

func (f *fetch) tooLarge(max int64) error {
	return f.fail(&outcome.Error{Code: CodeTooLarge, Message: fmt.Sprintf("the body of %s has more than %d bytes", f.requested, max)})
}

// withContext adds the operation and the target to an error that came before
// anything was sent.
func withContext(err error, r *Request, t target) error {
	known, ok := errors.AsType[*outcome.Error](err)
	if !ok {
		return err
	}
	known.Op, known.Key, known.Applied = r.Op, t.String(), appliedNo(r)
	return known
}

// appliedNo is the outcome of a request that was not sent, "" for a safe one.
func appliedNo(r *Request) string {
	if !IsSafe(r.Method) {
		return outcome.AppliedNo
	}
	return ""
}

// fail returns an error of the fetch as scripts see it: with its outcome, and with
// no host but the one that the script asked for.
func (f *fetch) fail(err error) error {
	e, ok := errors.AsType[*outcome.Error](err)
	if !ok {
		e = f.classify(err)
		if e.Code == CodeBlocked {
			f.client.reportBlocked(f.id)
		}
	}
	e.Op, e.Key = f.req.Op, f.requested.String()
	switch {
	case IsSafe(f.req.Method) || f.lastTrip != nil && (f.lastTrip.responded || f.lastTrip.safe):
	case f.lastTrip == nil || !f.lastTrip.sent.Load():
		if !f.changed { // else a redirect was the outcome
			e.Applied = outcome.AppliedNo
		}
	default:
		e.Applied, e.Retryable = outcome.AppliedUnknown, false
	}
	return e
}

// classify returns an error of net/http as a code and a message.
func (f *fetch) classify(err error) *outcome.Error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // without the URL, whose query may be a secret
	}
	newError := func(code string, retryable bool, format string, args ...any) *outcome.Error {
		return &outcome.Error{Code: code, Retryable: retryable, Message: f.requested.String() + " " + fmt.Sprintf(format, args...), Cause: err}
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	netErr, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(context.Cause(f.ctx), errTimeout):
		return newError(CodeTimeout, true, "took longer than %d ms", f.timeout().Milliseconds())
	case errors.Is(err, errDenied):
		return newError(CodeBlocked, false, "leads to an address that may not be reached: a private one needs an entry of its own in http.allow (--allow-net), as address:port")
	case isDNS && dns.IsNotFound:
		return newError(CodeDNS, false, "is no name that anybody knows")
	case isDNS:
		return newError(CodeDNS, true, "could not be looked up")
	case errors.Is(err, syscall.ECONNREFUSED):
		return newError(CodeRefused, true, "refuses connections")
	case isTLSError(err):
		return newError(CodeTLS, false, "can't be trusted: TLS has failed")
	case isNet && netErr.Timeout():
		return newError(CodeTimeout, true, "can't be reached in time")
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return newError(CodeTooLarge, false, "answers with a header of more than %d bytes", headerBytes)
	}
	return newError(CodeFailed, true, "did not answer, or not as HTTP wants it")
}

// isTLSError reports whether TLS has failed.
func isTLSError(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noRecord := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, wrongName := errors.AsType[x509.HostnameError](err)
	return untrusted || noRecord || alert || wrongName || errors.Is(err, nethttp.ErrSchemeMismatch) ||
		strings.HasPrefix(err.Error(), "tls: ") || strings.HasPrefix(err.Error(), "remote error: tls: ")
}
