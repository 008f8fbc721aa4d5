package spans

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidelock-lua/tidelock/runtime"
)

// exported sends two spans to a collector that answers by a function, and returns
// the error, what was logged, and how often the collector was asked.
func exported(t *testing.T, answer http.HandlerFunc) (logged string, requests int, err error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == tracesPath {
			requests++
		}
		answer(w, r)
	}))
	defer s.Close()
	core, logs := observer.New(zap.DebugLevel)
	otlp, err := NewOTLP(s.URL, nil, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	otlp.pause = time.Millisecond
	traces := New(otlp)
	for range 2 {
		_, end := traces.Begin(t.Context(), &runtime.Invocation{})
		end(&runtime.Result{})
	}
	err = traces.Flush(t.Context())
	if closed := traces.Close(t.Context()); closed != nil {
		t.Error(closed)
	}
	for _, e := range logs.All() {
		logged += e.Message + fmt.Sprint(e.ContextMap())
	}
	return logged, requests, err
}

func says(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Nothing but OTLP's answer means that spans were taken.
func TestOTLPBelievesNoOtherAnswer(t *testing.T) {
	const kind = "application/json"
	for _, test := range []struct {
		name     string
		answer   http.HandlerFunc
		want     string // "" is success
		logged   string
		requests int
	}{
		{"all taken", says(200, kind, `{"partialSuccess":{}}`), "", "", 1},
		{"all taken, in short", says(200, kind, " {}\n"), "", "", 1},
		{"none refused", says(200, kind, `{"partialSuccess":{"rejectedSpans":"0"}}`), "", "", 1},
		{"a warning", says(200, kind, `{"partialSuccess":{"errorMessage":"deprecated"}}`), "", "the collector of spans warnsmap[warning:deprecated]", 1},
		{"some refused", says(200, kind, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`), "refused 1 of 2 spans: too old", "", 1},
		{"a number that is one", says(200, kind, `{"partialSuccess":{"rejectedSpans":2}}`), "refused 2 of 2 spans", "", 1},
		{"a number that is none", says(200, kind, `{"partialSuccess":{"rejectedSpans":"some"}}`), "of 2 spans", "", 1},
		{"a page", says(200, "text/html", "<html><body>Sign in</body></html>"), `status 200 with 33 bytes of "text/html"`, "", 1},
		{"somebody else's JSON", says(200, kind, `{"status":"ok"}`), "status 200 with", "", 1},
		{"a list", says(200, kind, `[]`), "status 200 with", "", 1},
		{"null", says(200, kind, `null`), "status 200 with", "", 1},
		{"two answers", says(200, kind, `{}{}`), "status 200 with", "", 1},
		{"nothing", says(200, kind, ""), "status 200 with 0 bytes", "", 1},
		{"no content", says(204, kind, ""), "answered 204 No Content", "", 1},
		{"accepted", says(202, kind, "{}"), "answered 202 Accepted", "", 1},
		{"a long page", says(200, kind, strings.Repeat(" ", answerMax)+"{}"), "status 200 with", "", 1},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "answered 302 Found", "", 1},
		{"a redirect that keeps the method", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == tracesPath {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				return
			}
			_, _ = io.WriteString(w, "{}")
		}, "answered 307 Temporary Redirect", "", 1},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{}")
		}, "unexpected EOF", "", 1},
		{"refused", says(400, kind, "{}"), "answered 400 Bad Request", "", 1},
		{"denied", says(401, kind, "{}"), "answered 401 Unauthorized", "", 1},
		{"busy", says(503, kind, "{}"), "answered 503 Service Unavailable", "", attemptsMax},
		{"too many", says(429, kind, "{}"), "answered 429 Too Many Requests", "", attemptsMax},
	} {
		t.Run(test.name, func(t *testing.T) {
			logged, requests, err := exported(t, test.answer)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || logged != test.logged || requests != test.requests {
				t.Errorf("got %v, logged %q, %d requests; want %q, %q, %d", err, logged, requests, test.want, test.logged, test.requests)
			}
		})
	}
}

func TestOTLPRepeatsWhatABusyCollectorRefused(t *testing.T) {
	n := 0
	_, _, err := exported(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n < 3 {
			w.WriteHeader(502)
			return
		}
		_, _ = io.WriteString(w, "{}")
	})
	if err != nil || n != 3 {
		t.Errorf("got %v after %d requests", err, n)
	}
}

// The endpoint is a base URL: the path is added once.
func TestOTLPEndpoint(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:4318":            "http://127.0.0.1:4318/v1/traces",
		"http://127.0.0.1:4318/":           "http://127.0.0.1:4318/v1/traces",
		"http://127.0.0.1:4318/v1/traces":  "http://127.0.0.1:4318/v1/traces",
		"http://127.0.0.1:4318/v1/traces/": "http://127.0.0.1:4318/v1/traces",
		"https://x.example/otlp":           "https://x.example/otlp/v1/traces",
		"https://x.example/otlp/":          "https://x.example/otlp/v1/traces",
		"https://x.example/otlp/v1/traces": "https://x.example/otlp/v1/traces",
		"https://x.example/api?key=a%2Fb":  "https://x.example/api/v1/traces?key=a%2Fb",
		"http://[::1]:4318":                "http://[::1]:4318/v1/traces",
		"collector":                        "",
		"collector:4318":                   "",
		"http://":                          "",
		"http://:4318":                     "",
		"grpc://127.0.0.1:4317":            "",
		"":                                 "",
	} {
		otlp, err := NewOTLP(endpoint, nil, zap.NewNop())
		if (err != nil) != (want == "") || err == nil && otlp.url != want {
			t.Errorf("%s: got %v, %v; want %s", endpoint, otlp, err, want)
		}
	}
}

func TestOTLPSendsTheHeadersOfTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20a=b, x-team = c ,, =, bad=%zz")
	got := http.Header{}
	if _, _, err := exported(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.WriteString(w, "{}")
	}); err != nil {
		t.Fatal(err)
	}
	if got.Get("Authorization") != "Bearer a=b" || got.Get("X-Team") != "c" || got.Get("Bad") != "" || got.Get("Content-Type") != "application/json" {
		t.Errorf("got %v", got)
	}
}
