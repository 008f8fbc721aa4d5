package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/tasktest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// table is a table of locks in memory.
type table struct{ *memory.Store }

func newTable(t *testing.T) table {
	t.Helper()
	return table{memory.New(clock.NewDual(clock.System()))}
}

// hold takes a lock for a minute.
func (tb table) hold(t *testing.T, id tenant.ID, name, owner string) {
	t.Helper()
	now := time.Now()
	row := lock.Row{
		Key: lock.Key{Tenant: id, Name: name}, Owner: owner, Start: lock.UnixMilli(now.UnixMilli()), Until: lock.UnixMilli(now.Add(time.Minute).UnixMilli()),
		By: lock.Holder{HostKind: "task", Run: "run-1"},
	}
	if a := tb.PutLock(t.Context(), row, row.Start); a.Outcome != outcome.Applied {
		t.Fatal(a)
	}
}

func TestLocksCanBeListedAndFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		tb.hold(t, "a", "job/1", "owner-1")
		tb.hold(t, "a", "native:schedule/x", "owner-2")
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a", "b"), Table: tb,
			Tokens: []api.Token{{SHA256: api.HashOf("a"), Tenant: "a"}, {SHA256: api.HashOf("o"), Operator: true}}})
		tenantOnly, operator := []string{"Authorization", "Bearer a"}, []string{"Authorization", "Bearer o"}
		time.Sleep(20 * time.Second) // of fake time
		r := s.Do("GET", "/v1/tenants/a/locks", "", tenantOnly...)
		locks, _ := r.Field("locks").([]any)
		if r.Status != 200 || len(locks) != 2 {
			t.Fatalf("got %d %s, want two locks", r.Status, r.Body)
		}
		first := locks[0].(map[string]any)
		if first["name"] != "job/1" || first["owner"] != "owner-1" || first["left_ms"] != 40000.0 || first["ran_out"] != false ||
			first["by"].(map[string]any)["run"] != "run-1" {
			t.Errorf("got %v", first)
		}
		if r := s.Do("GET", "/v1/tenants/b/locks", "", operator...); r.Body != `{"locks":[]}` {
			t.Errorf("b: got %s, want none", r.Body)
		}
		const path = "/v1/tenants/a/locks/job%2F1"
		s.Do("DELETE", path, "", tenantOnly...).Want(t, "no owner", 400, "Request.Invalid")
		s.Do("DELETE", path+"?owner=other", "", tenantOnly...).Want(t, "another owner", 409, "Request.Conflict")
		s.Do("DELETE", path+"?owner=owner-1", "", tenantOnly...).Want(t, "its owner", 200, "")
		s.Do("DELETE", path+"?owner=owner-1", "", tenantOnly...).Want(t, "not held", 404, "Request.NotFound")
		const host = "/v1/tenants/a/locks/native:schedule/x?owner=owner-2"
		s.Do("DELETE", host, "", tenantOnly...).Want(t, "the host's own", 403, "Request.Forbidden")
		s.Do("DELETE", host, "", operator...).Want(t, "the host's own, by an operator", 200, "")
		synctest.Wait()
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
