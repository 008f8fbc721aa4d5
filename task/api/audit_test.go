package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/tasktest"
)

// A run's record has the name of the token, and so has one audit record for each
// act that changes something.
func TestAuditLogHasEachActWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.DebugLevel)
		tb := newTable(t)
		tb.hold(t, "a", "job", "owner-1")
		reloads := []error{nil, errors.Join(errors.New("tidelock.yaml:3: tasks: unknown key"), errors.New("tidelock.yaml:7: db: want keys"))}
		s := tasktest.Serve(t, task.Config{
			Engine: runnertest.Work(time.Minute), Tenants: runnertest.Tenants("a"), Table: tb, Log: zap.New(core),
			Tokens: []api.Token{{Name: "ci", SHA256: api.HashOf("a"), Tenant: "a"}, {Name: "ops", SHA256: api.HashOf("o"), Operator: true}},
			Reload: func() error {
				err := reloads[0]
				reloads = reloads[1:]
				return err
			},
		})
		ci, ops := []string{"Authorization", "Bearer a"}, []string{"Authorization", "Bearer o", "X-Forwarded-For", "203.0.113.7"}
		id := s.Invoke("a", ``, append(ci, "Prefer", "respond-async")...).ID()
		synctest.Wait()
		s.Do("GET", "/v1/invocations/"+id, "", ci...)
		s.Do("GET", "/v1/tenants/a/locks", "", ops...)
		s.Do("DELETE", "/v1/invocations/"+id, "", ci...)
		synctest.Wait()
		s.Do("DELETE", "/v1/invocations/"+id, "", ci...) // it is over: nothing is changed
		s.Do("DELETE", "/v1/tenants/a/locks/job?owner=other", "", ops...).Want(t, "another owner", 409, "Request.Conflict")
		s.Do("DELETE", "/v1/tenants/a/locks/job?owner=owner-1", "", ops...).Want(t, "free", 200, "")
		s.Do("POST", "/v1/reload", "", ci...).Want(t, "reload by a tenant", 403, "Request.Forbidden")
		s.Do("POST", "/v1/reload", "", ops...).Want(t, "reload", 200, "")
		r := s.Do("POST", "/v1/reload", "", ops...)
		r.Want(t, "a bad reload", 422, "Host.ConfigInvalid")
		if got := fmt.Sprint(r.Field("errors")); got != "[tidelock.yaml:3: tasks: unknown key tidelock.yaml:7: db: want keys]" {
			t.Errorf("got the errors %s", got)
		}
		want := []string{
			"run.cancel ci tenant done=true tenantId=a runId=" + id,
			"lock.free ops operator done=false tenantId=a lock=job owner=other for=203.0.113.7",
			"lock.free ops operator done=true tenantId=a lock=job owner=owner-1 for=203.0.113.7",
			"configuration.reload ops operator done=true for=203.0.113.7",
			"configuration.reload ops operator done=false for=203.0.113.7",
		}
		var got []string
		for _, record := range logs.All() {
			if record.LoggerName != "audit" {
				continue
			}
			m := record.ContextMap()
			line := fmt.Sprint(m["act"], " ", m["caller"], " ", m["role"], " done=", m["done"])
			for _, name := range []string{"tenantId", "runId", "lock", "owner"} {
				if m[name] != nil {
					line += fmt.Sprint(" ", name, "=", m[name])
				}
			}
			if m["forwardedFor"] != nil {
				line += fmt.Sprint(" for=", m["forwardedFor"])
			}
			if m["from"] == nil || m["from"] == "" {
				t.Errorf("%s: from nowhere", line)
			}
			got = append(got, line)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		failed := logs.FilterMessage("run failed").All()
		if len(failed) != 1 || failed[0].ContextMap()["caller"] != "ci" {
			t.Errorf("got %v, want a record of the run with its caller", failed)
		}
		for _, record := range logs.All() {
			if text := fmt.Sprint(record.Message, record.ContextMap()); strings.Contains(text, "Bearer") {
				t.Errorf("a token is in the log: %s", text)
			}
		}
	})
}

func TestRequestWithoutAValidTokenIsCountedAndSeldomLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.DebugLevel)
		counts := map[string]int{}
		s := tasktest.Serve(t, task.Config{
			Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a"), Log: zap.New(core),
			Tokens: []api.Token{{Name: "ci", SHA256: api.HashOf("a"), Tenant: "a"}},
			Events: task.Events{Unauthorized: func(reason string) { counts[reason]++ }},
		})
		send := func(token string) {
			s.Invoke("a", ``, "Authorization", token).Want(t, token, 401, "Request.Unauthorized")
		}
		for range 50 {
			send("Bearer hunter2")
		}
		send("")
		time.Sleep(time.Minute)
		send("Bearer hunter2")
		s.Invoke("a", ``, "Authorization", "Bearer a").Want(t, "a valid one", 200, "")
		if counts["wrong"] != 51 || counts["missing"] != 1 || len(counts) != 2 {
			t.Errorf("got %v", counts)
		}
		records := logs.FilterMessage("a request had no valid token").All()
		if len(records) != 2 || records[1].ContextMap()["notLogged"] != int64(50) || records[1].ContextMap()["reason"] != "wrong" {
			t.Errorf("got %v, want two records, the second one with how many were not logged", records)
		}
		if strings.Contains(fmt.Sprint(logs.All()), "hunter2") {
			t.Error("a token is in the log")
		}
	})
}

// One token is one bearer: a hash that two parties have would be the one's or the
// other's by chance.
func TestTokensAreUnique(t *testing.T) {
	a, b := api.HashOf("a"), api.HashOf("b")
	for name, tokens := range map[string][]api.Token{
		"a tenant's and an operator's": {{SHA256: a, Tenant: "a"}, {SHA256: a, Operator: true}},
		"two tenants'":                 {{SHA256: a, Tenant: "a"}, {SHA256: strings.ToUpper(a), Tenant: "b"}},
		"twice one tenant's":           {{Name: "x", SHA256: a, Tenant: "a"}, {Name: "y", SHA256: a, Tenant: "a"}},
		"two of one name":              {{Name: "x", SHA256: a, Tenant: "a"}, {Name: "x", SHA256: b, Tenant: "a"}},
	} {
		c := task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a", "b"), Tokens: tokens}
		if _, err := task.New(c); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	c := task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a", "b"),
		Tokens: []api.Token{{Name: "x", SHA256: a, Tenant: "a"}, {Name: "x", SHA256: b, Tenant: "b"}}}
	if _, err := task.New(c); err != nil {
		t.Errorf("the same name of two tenants: %v", err)
	}
}
