package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A container is well when its task says so: another program on its port, or a
// proxy, would keep a dead one alive.
func TestHealthcheckBelievesTheTaskAlone(t *testing.T) {
	noEnvironment(t)
	t.Chdir(t.TempDir())
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // "" is well
	}{
		{"well", says(200, `{"ok":true}`), ""},
		{"well, with more", says(200, `{"ok":true,"version":"v1"}`), ""},
		{"not ready", says(503, `{"ok":false,"reason":"draining"}`), `the task answers 503 Service Unavailable: {"ok":false,"reason":"draining"}`},
		{"not well, with status 200", says(200, `{"ok":false}`), "the task answers 200 OK"},
		{"well, with status 500", says(500, `{"ok":true}`), "the task answers 500 Internal Server Error"},
		{"accepted", says(202, `{"ok":true}`), "the task answers 202 Accepted"},
		{"a page", says(200, "<html>it works</html>"), "what answers 200 OK is no task"},
		{"nothing", says(200, ""), "what answers 200 OK is no task"},
		{"no content", says(204, ""), "what answers 204 No Content is no task"},
		{"somebody else's JSON", says(200, `{"status":"up"}`), "what answers 200 OK is no task"},
		{"a text for ok", says(200, `{"ok":"true"}`), "what answers 200 OK is no task"},
		{"null", says(200, `null`), "what answers 200 OK is no task"},
		{"a redirect to a task that is well", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, `{"ok":true}`)
		}, "what answers 302 Found is no task"},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"ok":true}`)
		}, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(test.answer)
			defer s.Close()
			out, code, err := tidelock(t, "healthcheck", "--json", "--internal-listen", strings.TrimPrefix(s.URL, "http://"))
			if (code == 0) != (test.want == "") || code != 0 && !strings.Contains(strings.ReplaceAll(out, `\"`, `"`), test.want) {
				t.Errorf("exit code %d, %v: %s; want %q", code, err, out, test.want)
			}
		})
	}
}
