package task_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/schedule"
	"github.com/tidelock-lua/tidelock/task/tasktest"
)

// sha is the hash of a token.
func sha(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ready asks for /readyz.
func ready(t *testing.T, s *tasktest.Served) (status int, body string) {
	t.Helper()
	r, err := s.Internal.Get("http://internal/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestReadyzSaysWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a"), Problems: func() []api.Problem {
			if broken.Load() {
				return []api.Problem{{Check: "table", Reason: "connection refused"}}
			}
			return nil
		}})
		if status, body := ready(t, s); status != 200 || body != `{"ok":true}`+"\n" {
			t.Errorf("got %d %s", status, body)
		}
		broken.Store(true)
		if status, body := ready(t, s); status != 503 || body != `{"ok":false,"problems":[{"check":"table","reason":"connection refused"}]}`+"\n" {
			t.Errorf("got %d %s", status, body)
		}
		broken.Store(false)
		if status, _ := ready(t, s); status != 200 {
			t.Errorf("got %d after it is well again", status)
		}
	})
}

// A lame duck serves on, but says at once that it isn't ready; the drain has what
// is left of the time to stop.
func TestLameDuckServesOnAndIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(time.Second), Tenants: runnertest.Tenants("a"), StopTimeout: 30 * time.Second, LameDuck: 10 * time.Second})
		from := time.Now()
		s.Stop()
		synctest.Wait()
		if status, body := ready(t, s); status != 503 || body != `{"ok":false,"problems":[{"check":"stopping","reason":"the host stops"}]}`+"\n" {
			t.Errorf("got %d %s", status, body)
		}
		time.Sleep(8 * time.Second)
		s.Invoke("a", ``).Want(t, "after 8 s", 200, "")
		if took := s.Took(from); took < 10*time.Second || took > 10*time.Second+pollTime {
			t.Errorf("took %v, want 10 s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(time.Hour), Tenants: runnertest.WithTimeout(runnertest.Tenants("a"), "a", time.Hour), StopTimeout: 30 * time.Second, LameDuck: 10 * time.Second})
		s.Begin("a", ``)
		from := time.Now()
		s.Stop()
		if took := s.Took(from); took < 25*time.Second || took > 25*time.Second+pollTime {
			t.Errorf("a long run: took %v, want 25 s, when the reserve is left", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a"), LameDuck: 10 * time.Second})
		from := time.Now()
		s.Stop()
		s.ForceStop()
		if took := s.Took(from); took > pollTime {
			t.Errorf("a second signal: took %v, want no time", took)
		}
	})
	for _, duck := range []time.Duration{-1, 26 * time.Second} {
		if _, err := task.New(task.Config{Engine: runnertest.Work(0), LameDuck: duck}); err == nil {
			t.Errorf("a lame duck of %v was accepted", duck)
		}
	}
}

// A reload is all or nothing.
func TestReloadIsAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := func(name string) api.Token { return api.Token{Name: name, SHA256: sha(name), Operator: true} }
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(30 * time.Second), Tenants: runnertest.Tenants("a"), Tokens: []api.Token{token("one")}})
		one, two := []string{"Authorization", "Bearer one"}, []string{"Authorization", "Bearer two"}
		before := s.Invoke("a", ``, append(one, "Prefer", "respond-async")...).ID()
		good := task.Settings{Tenants: runnertest.Tenants("b"), Tokens: []api.Token{token("two")}}
		for name, bad := range map[string]task.Settings{
			"a token":        {Tenants: good.Tenants, Tokens: []api.Token{{SHA256: "x", Operator: true}}},
			"limits":         {Tenants: good.Tenants, Tokens: good.Tokens, Limits: task.Limits{Concurrency: -1}},
			"a schedule":     {Tenants: good.Tenants, Tokens: good.Tokens, Schedules: []schedule.Schedule{{Name: "x", Tenant: "b", Script: "job", Cron: "@every 1h"}}},
			"tenant's token": {Tenants: good.Tenants, Tokens: []api.Token{{SHA256: sha("t"), Tenant: "a"}}},
		} {
			if err := s.Reload(bad); err == nil {
				t.Errorf("%s: want an error", name)
			}
			s.Do("GET", "/v1/tenants/a/locks", "", one...).Want(t, name+": a is there", 404, "Request.NotFound")
			s.Do("GET", "/v1/tenants/b/locks", "", two...).Want(t, name+": two is unknown", 401, "Request.Unauthorized")
		}
		if err := s.Reload(good); err != nil {
			t.Fatal(err)
		}
		s.Invoke("a", ``, two...).Want(t, "a has gone", 404, "Tenant.Unknown")
		s.Invoke("a", ``, one...).Want(t, "one has gone", 401, "Request.Unauthorized")
		s.Invoke("b", ``, two...).Want(t, "b has come", 200, "")
		s.Do("GET", "/v1/invocations/"+before, "", append(two, "Prefer", "wait=100")...).Want(t, "what was accepted before", 200, "")
	})
}

func TestReloadNeverOpensAListenerToEverybody(t *testing.T) {
	h, err := task.New(task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a"), Tokens: []api.Token{{SHA256: sha("t"), Operator: true}}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	l := tasktest.NewPipes("10.0.0.1")
	go func() { served <- h.Serve(t.Context(), l, nil) }()
	for end := time.Now().Add(2 * time.Second); h.Reload(task.Settings{Tenants: runnertest.Tenants("a")}) == nil; { // before it listens it may
		if time.Now().After(end) {
			t.Error("a reload has opened the listener to everybody")
			break
		}
		if err := h.Reload(task.Settings{Tenants: runnertest.Tenants("a"), Tokens: []api.Token{{SHA256: sha("t"), Operator: true}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	l.Close()
	if err := <-served; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}
