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
	blocked = `{"failure":{"Arn":"arn:x","Detail":"more tasks are protected than wanted","Reason":"DEPLOYMENT_BLOCKED"},"requestID":"2"}`
)

// agent is a container agent that responses from a list, and with the last one
// when that is over. It notes what it was calls, and when.
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
	r.Body = io.NopCloser(strings.NewReader(string(text)))
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

// grants responses as the platform does when it does what it was calls for.
func grants(r *http.Request) (*http.Response, error) {
	if wanted, _ := io.ReadAll(r.Body); strings.Contains(string(wanted), "true") {
		return says(200, granted(2*time.Hour))(r)
	}
	return says(200, `{"protection":{"ProtectionEnabled":false,"TaskArn":"arn:x"},"requestID":"1"}`)(r)
}

// granted is the answer with an expiry.
func granted(after time.Duration) string {
	return `{"protection":{"ExpirationDate":"` + time.Now().Add(after).UTC().Format(time.RFC3339) + `","ProtectionEnabled":true,"TaskArn":"arn:x"},"requestID":"1"}`
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func refuses(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// keep runs Keep in fake time, with work from one moment to another, and
// returns what the agent was calls and what was logged.
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

func TestATaskIsProtectedWhileItHasWork(t *testing.T) {
	second := time.Second
	for _, test := range []struct {
		name               string
		duration, from, to time.Duration
		responses          []func(*http.Request) (*http.Response, error)
		calls, logged      []string
	}{
		{name: "without work the agent is left alone",
			duration: time.Hour, responses: []func(*http.Request) (*http.Response, error){grants}},
		{name: "once when work begins, once when none is left",
			duration: time.Hour, from: 5 * second / 2, to: 65 * second / 2, responses: []func(*http.Request) (*http.Response, error){grants},
			calls: []string{"3s " + on, "42s " + off}, logged: []string{"info", "info"}},
		{name: "work that outlasts the protection has it renewed",
			duration: 150 * time.Minute, from: 5 * second / 2, to: 3 * time.Hour, responses: []func(*http.Request) (*http.Response, error){grants},
			calls: []string{"3s " + on, "1h0m3s " + on, "2h0m3s " + on}, logged: []string{"info"}},
		{name: "a refusal is tried again, less and less often, and warned of once",
			duration: 30 * second, from: 5 * second / 2, to: time.Hour,
			responses: []func(*http.Request) (*http.Response, error){says(200, blocked), says(200, blocked), says(200, blocked), grants},
			calls:     []string{"3s " + on, "4s " + on, "6s " + on, "10s " + on}, logged: []string{"warn", "info"}},
		{name: "an agent that hangs, refuses or speaks no JSON is calls again",
			duration: 30 * second, from: 5 * second / 2, to: time.Hour,
			responses: []func(*http.Request) (*http.Response, error){hangs, refuses, says(500, "oops"), grants},
			calls:     []string{"3s " + on, "6s " + on, "8s " + on, "12s " + on}, logged: []string{"warn", "warn", "warn", "info"}},
		{name: "protection that was perhaps granted is ended too",
			duration: time.Minute, from: 5 * second / 2, to: 7 * second / 2,
			responses: []func(*http.Request) (*http.Response, error){hangs, grants},
			calls:     []string{"3s " + on, "6s " + off}},
		{name: "it is given up again and again until the agent has heard it",
			duration: time.Minute, from: 5 * second / 2, to: 7 * second / 2,
			responses: []func(*http.Request) (*http.Response, error){grants, refuses, refuses, grants},
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

func TestTheRequestIsThePlatforms(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		json.NewDecoder(r.Body).Decode(&body)
		got = fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", body)
		io.WriteString(w, granted(2*time.Hour))
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

// The task counts as protected, or as unprotected, when the platform has said just
// that: a page that somebody else responses with changes nothing.
func TestOnlyTheRequestedStateIsASuccess(t *testing.T) {
	const off = `{"protection":{"ProtectionEnabled":false,"TaskArn":"arn:x"},"requestID":"1"}`
	redirect := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/elsewhere" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		io.WriteString(w, granted(2*time.Hour))
	}
	body := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	for _, test := range []struct {
		name    string
		enabled bool
		answer  http.HandlerFunc
		want    string // "" is success
	}{
		{"protected", true, body(200, granted(2*time.Hour)), ""},
		{"protected by a clock that differs", true, body(200, granted(2*time.Hour+4*time.Minute)), ""},
		{"unprotected", false, body(200, off), ""},
		{"unprotected, with null", false, body(200, `{"protection":{"ExpirationDate":null,"ProtectionEnabled":false,"TaskArn":"arn:x"},"failure":null,"error":null}`), ""},
		{"unprotected instead", true, body(200, off), "protection=true was requested, and the agent's response says false"},
		{"protected instead", false, body(200, granted(2*time.Hour)), "protection=false was requested, and the agent's response says true"},
		{"for too short", true, body(200, granted(time.Hour)), "was requested, and the agent's response says"},
		{"for too long", true, body(200, granted(48*time.Hour)), "was requested, and the agent's response says"},
		{"in the past", true, body(200, granted(-time.Hour)), "was requested, and the agent's response says"},
		{"until nobody knows", true, body(200, `{"protection":{"ProtectionEnabled":true,"TaskArn":"arn:x"}}`), "until when"},
		{"a date that is none", true, body(200, `{"protection":{"ExpirationDate":"soon","ProtectionEnabled":true,"TaskArn":"arn:x"}}`), "the agent's response: "},
		{"an empty state", true, body(200, `{"protection":{}}`), "names no task and its state"},
		{"a state without a task", false, body(200, `{"protection":{"ProtectionEnabled":false}}`), "names no task and its state"},
		{"an empty answer", true, body(200, `{}`), "neither yes nor no"},
		{"null", true, body(200, `null`), "neither yes nor no"},
		{"nothing", true, body(200, ``), "the agent's response: "},
		{"a page", false, body(200, `<html>`), "the agent's response: "},
		{"a failure beside a state", true, body(200, granted(2 * time.Hour)[:len(granted(2*time.Hour))-1]+`,"failure":{"Reason":"MISSING","Detail":"d"}}`), "MISSING: d"},
		{"a failure", true, body(200, blocked), "DEPLOYMENT_BLOCKED: "},
		{"an error", true, body(400, `{"error":{"Code":"AccessDeniedException","Message":"m"}}`), "AccessDeniedException: m"},
		{"another status", true, body(201, granted(2*time.Hour)), "answered 201 Created"},
		{"no content", false, body(204, ""), "answered 204 No Content"},
		{"a redirect", true, redirect, "answered 307 Temporary Redirect"},
		{"an answer that breaks off", true, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, granted(2*time.Hour))
		}, "the agent's response: unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			err := New(server.URL, zap.NewNop()).set(t.Context(), test.enabled)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
