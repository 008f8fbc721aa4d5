package protection

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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const (
	yes     = `{"protection":{"ExpirationDate":"2026-11-30T12:00:00Z","ProtectionEnabled":true,"TaskArn":"arn:x"},"requestID":"1"}`
	blocked = `{"failure":{"Arn":"arn:x","Detail":"more tasks are protected than wanted","Reason":"DEPLOYMENT_BLOCKED"},"requestID":"2"}`
)

// agent is a container agent that responds from a list, and with the last one
// when that is over. It records its calls, and when they came.
type agent struct {
	responses []func(*http.Request) (*http.Response, error)
	began     time.Time
	calls     []string
}

func (a *agent) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.calls = append(a.calls, fmt.Sprintf("%v %s", time.Since(a.began).Round(time.Second), text))
	answer := a.responses[0]
	if len(a.responses) > 1 {
		a.responses = a.responses[1:]
	}
	return answer(r)
}

func says(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func refuses(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// keep runs Keep in fake time, with work from one moment to another, and
// returns the calls of the agent and what was logged.
func keep(t *testing.T, duration, from, to time.Duration, responses ...func(*http.Request) (*http.Response, error)) (calls, logged []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := &agent{responses: responses, began: time.Now()}
		core, logs := observer.New(zap.InfoLevel)
		a := New("http://agent/", zap.New(core))
		a.client.Transport, a.jitter = fake, func() float64 { return 1 }
		ctx, stop := context.WithTimeout(t.Context(), duration)
		defer stop()
		a.Keep(ctx, func() bool {
			at := time.Since(fake.began)
			return at > from && at < to
		})
		calls = fake.calls
		for _, entry := range logs.All() {
			logged = append(logged, entry.Level.String())
		}
	})
	return calls, logged
}

const on, off = `{"ExpiresInMinutes":120,"ProtectionEnabled":true}`, `{"ProtectionEnabled":false}`

func TestKeepProtectsTheTaskWhileItHasWork(t *testing.T) {
	second := time.Second
	for _, test := range []struct {
		name               string
		duration, from, to time.Duration
		responses          []func(*http.Request) (*http.Response, error)
		calls, logged      []string
	}{
		{name: "without work the agent is not called",
			duration: time.Hour, responses: []func(*http.Request) (*http.Response, error){says(200, yes)}},
		{name: "once when work begins, once when none is left",
			duration: time.Hour, from: 5 * second / 2, to: 65 * second / 2, responses: []func(*http.Request) (*http.Response, error){says(200, yes)},
			calls: []string{"3s " + on, "42s " + off}, logged: []string{"info", "info"}},
		{name: "work that outlasts the protection has it renewed",
			duration: 150 * time.Minute, from: 5 * second / 2, to: 3 * time.Hour, responses: []func(*http.Request) (*http.Response, error){says(200, yes)},
			calls: []string{"3s " + on, "1h0m3s " + on, "2h0m3s " + on}, logged: []string{"info"}},
		{name: "a refused call is repeated with a growing pause, and logged once",
			duration: 30 * second, from: 5 * second / 2, to: time.Hour,
			responses: []func(*http.Request) (*http.Response, error){says(200, blocked), says(200, blocked), says(200, blocked), says(200, yes)},
			calls:     []string{"3s " + on, "4s " + on, "6s " + on, "10s " + on}, logged: []string{"warn", "info"}},
		{name: "a call that hangs, is refused or has no JSON is repeated",
			duration: 30 * second, from: 5 * second / 2, to: time.Hour,
			responses: []func(*http.Request) (*http.Response, error){hangs, refuses, says(500, "oops"), says(200, yes)},
			calls:     []string{"3s " + on, "6s " + on, "8s " + on, "12s " + on}, logged: []string{"warn", "warn", "warn", "info"}},
		{name: "protection that is in doubt is ended too",
			duration: time.Minute, from: 5 * second / 2, to: 7 * second / 2,
			responses: []func(*http.Request) (*http.Response, error){hangs, says(200, yes)},
			calls:     []string{"3s " + on, "6s " + off}},
		{name: "its end is repeated until the agent has confirmed it",
			duration: time.Minute, from: 5 * second / 2, to: 7 * second / 2,
			responses: []func(*http.Request) (*http.Response, error){says(200, yes), refuses, refuses, says(200, yes)},
			calls:     []string{"3s " + on, "13s " + off, "14s " + off, "16s " + off}, logged: []string{"info", "warn", "info"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls, logged := keep(t, test.duration, test.from, test.to, test.responses...)
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if test.logged != nil {
				if diff := cmp.Diff(test.logged, logged); diff != "" {
					t.Errorf("logged (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestSetSendsThePlatformsRequest(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		json.NewDecoder(r.Body).Decode(&body)
		got = fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", body)
		io.WriteString(w, yes)
	}))
	defer server.Close()
	if err := New(server.URL+"/api/v4", zap.NewNop()).set(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	want := "PUT /api/v4/task-protection/v1/state application/json map[ExpiresInMinutes:120 ProtectionEnabled:true]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
