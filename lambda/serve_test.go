package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/test/lambdaapi"
)

// served runs a host with one loop at a fake of the platform until the test ends.
func served(t *testing.T, configure func(*lambda.Config)) (*function, *lambdaapi.API, <-chan error) {
	t.Helper()
	f := newFunction(t, configure, nil)
	api := lambdaapi.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		ended <- f.ServeAt(ctx, api.Address, 1)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return f, api, ended
}

// Whatever is wrong with an invocation before its event is read is an error of
// ours, and the environment lives on.
func TestServeInvocationErrorsHaveOurTypes(t *testing.T) {
	f, api, _ := served(t, all("nothing"))
	const (
		deadline = "Lambda-Runtime-Deadline-Ms"
		client   = "Lambda-Runtime-Client-Context"
		identity = "Lambda-Runtime-Cognito-Identity"
		trace    = "Lambda-Runtime-Trace-Id"
	)
	for _, test := range []struct{ name, header, value, want string }{
		{"no deadline", deadline, "", "Host.Internal: the platform sent no deadline, but \"\""},
		{"a deadline that is no number", deadline, "soon", "Host.Internal: the platform sent no deadline, but \"soon\""},
		{"half a millisecond", deadline, "1.5", "Host.Internal: "},
		{"a deadline that no number holds", deadline, "9223372036854775808", "Host.Internal: "},
		{"a long text", deadline, strings.Repeat("9", 5000), "Host.Internal: the platform sent no deadline, but \"" + strings.Repeat("9", 40) + "\""},
		{"a deadline in the year 5138", deadline, "99999999999999", ""},
		{"the last deadline that there is", deadline, "9223372036854775807", ""},
		{"a deadline that has passed", deadline, "1", "Script.Timeout: the run took longer than the 0s"},
		{"a deadline of 0", deadline, "0", "Script.Timeout: the run took longer than the 0s"},
		{"the first deadline that there is", deadline, "-9223372036854775808", "Script.Timeout: the run took longer than the 0s"},
		{"a client context", client, `{"custom":{"a":{"b":1}},"env":{"c":"d"},"client":{}}`, ""},
		{"a client context that is no JSON", client, `{`, "Event.Invalid: the client context is not JSON of the form"},
		{"a client context of another form", client, `{"env":5}`, "Event.Invalid: the client context is not JSON of the form"},
		{"an identity", identity, `{"cognitoIdentityId":"a","cognitoIdentityPoolId":"b"}`, ""},
		{"an identity that is no JSON", identity, `x`, "Host.Internal: the platform sent an identity"},
		{"an identity of another form", identity, `[1]`, "Host.Internal: the platform sent an identity"},
		{"no trace", trace, "", ""},
		{"a trace that is none", trace, "Root=;;=\xff", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := api.Invoke(t, lambdaapi.Invocation{Timeout: time.Minute, Header: map[string]string{test.header: test.value}})
			if test.want == "" {
				if !got.OK() || got.Body != "null" || got.Header.Get("Content-Type") != "application/json" {
					t.Errorf("got %s %d %s", got.Path, got.Status, got.Body)
				}
				return
			}
			var e struct{ ErrorType, ErrorMessage string }
			if err := json.Unmarshal([]byte(got.Body), &e); err != nil || got.Path != "error" || got.Status != http.StatusAccepted ||
				!strings.HasPrefix(e.ErrorType+": "+e.ErrorMessage, test.want) || len(got.Body) > 500 {
				t.Errorf("got %s %d %s, want %s", got.Path, got.Status, got.Body, test.want)
			}
			if cause := got.Header.Get("Lambda-Runtime-Function-Xray-Error-Cause"); !json.Valid([]byte(cause)) || !strings.Contains(cause, e.ErrorType) {
				t.Errorf("got the cause %q", cause)
			}
			refused := f.log.TakeAll()
			if last := refused[len(refused)-1].ContextMap(); last["errorType"] != e.ErrorType || last["requestId"] == nil {
				t.Errorf("got the record %v", last)
			}
		})
	}
}

// An answer of somebody else than the platform ends the loop with what it was.
func TestServeBelievesThePlatformAlone(t *testing.T) {
	invocation := func(w http.ResponseWriter) {
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
	}
	cut := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	}
	for _, test := range []struct {
		name       string
		next, post func(http.ResponseWriter)
		want       string
	}{
		{"a page", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, nil, "without a request id"},
		{"a request id that leads elsewhere", func(w http.ResponseWriter) { w.Header().Set("Lambda-Runtime-Aws-Request-Id", "../x") }, nil, "without a request id"},
		{"no content", func(w http.ResponseWriter) { invocation(w); w.WriteHeader(204) }, nil, "answered 204 No Content"},
		{"a redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", "/2018-06-01/runtime/elsewhere")
			w.WriteHeader(302)
		}, nil, "answered 302 Found"},
		{"an event that breaks off", func(w http.ResponseWriter) { invocation(w); cut(w) }, nil, "unexpected EOF"},
		{"a response that was not taken", invocation, func(w http.ResponseWriter) { w.WriteHeader(200) }, "answered 200 OK"},
		{"a response that is redirected", invocation, func(w http.ResponseWriter) {
			w.Header().Set("Location", "/2018-06-01/runtime/elsewhere")
			w.WriteHeader(307)
		}, "answered 307 Temporary Redirect"},
		{"a refused response", invocation, func(w http.ResponseWriter) { w.WriteHeader(403) }, "answered 403 Forbidden"},
		{"an answer that breaks off", invocation, func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); w.WriteHeader(202) }, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/invocation/next"):
					test.next(w)
				case strings.HasSuffix(r.URL.Path, "/elsewhere"):
					w.WriteHeader(http.StatusAccepted) // of a request that followed a redirect
				case r.Method == http.MethodPost && test.post != nil:
					_, _ = io.Copy(io.Discard, r.Body)
					test.post(w)
				default:
					t.Errorf("got %s %s", r.Method, r.URL)
				}
			}))
			defer s.Close()
			f := newFunction(t, all("nothing"), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := f.ServeAt(ctx, strings.TrimPrefix(s.URL, "http://"), 1)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// One loop that ends lets the others finish what they have received.
func TestServeEndsAfterWhatIsInFlight(t *testing.T) {
	f := newFunction(t, all("stuck"), nil)
	api := lambdaapi.Start(t)
	api.MaxConcurrency = 2
	ended := make(chan error)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { ended <- f.ServeAt(ctx, api.Address, 2) }()
	p := api.Send(lambdaapi.Invocation{Timeout: time.Minute})
	for f.begun.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel(errors.New("the other loop has failed"))
	close(f.stuck)
	if got := p.AwaitResponse(t); !got.OK() || got.Body != "null" {
		t.Errorf("got %+v", got)
	}
	if err := lambdaapi.Await(t, "the end", ended); err == nil || err.Error() != "the other loop has failed" {
		t.Errorf("got %v", err)
	}
}

// A run that doesn't come back ends the process, once its error has been sent.
func TestServeEndsWithAnAbandonedRun(t *testing.T) {
	f, api, ended := served(t, all("stuck"))
	defer close(f.stuck)
	got := api.Send(lambdaapi.Invocation{Timeout: 200 * time.Millisecond}).AwaitResponse(t)
	if got.Path != "error" || got.Status != http.StatusAccepted || !strings.Contains(got.Body, `"errorType":"Script.Timeout"`) {
		t.Errorf("got %+v", got)
	}
	if err := lambdaapi.Await(t, "the end", ended); err == nil || !strings.Contains(err.Error(), "has not come back") {
		t.Errorf("got %v", err)
	}
}

// Without an extension there is no SIGTERM, so what isn't a registration is said.
func TestServeWarnsWithoutAnExtension(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		{"refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, "answered 403 Forbidden"},
		{"accepted", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, "answered 202 Accepted"},
		{"without an identifier", func(http.ResponseWriter, *http.Request) {}, "without an identifier"},
		{"an event", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Lambda-Extension-Name") != "" {
				w.Header().Set("Lambda-Extension-Identifier", "1")
			} else if r.Header.Get("Lambda-Extension-Identifier") != "1" {
				t.Errorf("got %v", r.Header)
			}
		}, "an event that the extension has not registered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(test.answer))
			defer s.Close()
			f := newFunction(t, all("nothing"), nil)
			f.RegisterAt(strings.TrimPrefix(s.URL, "http://"))
			for end := time.Now().Add(10 * time.Second); ; {
				if all := f.log.FilterMessageSnippet("without SIGTERM").All(); len(all) == 1 && strings.Contains(fmt.Sprint(all[0].ContextMap()), test.want) {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("got %v, want %s", f.log.All(), test.want)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}
