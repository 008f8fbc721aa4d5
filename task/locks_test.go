package task

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
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

func TestLocksAreListedAndFreedByTheirOwner(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tb := newTable(t)
		tb.hold(t, "a", "job/1", "owner-1")
		tb.hold(t, "a", "native:schedule/x", "owner-2")
		s := serveHost(t, Config{Engine: works(0), Tenants: tenantsNamed("a", "b"), Table: tb,
			Tokens: []Token{{SHA256: tokenOf("a"), Tenant: "a"}, {SHA256: tokenOf("o"), Operator: true}}})
		tenantOnly, operator := []string{"Authorization", "Bearer a"}, []string{"Authorization", "Bearer o"}
		time.Sleep(20 * time.Second) // of fake time
		r := s.do("GET", "/v1/tenants/a/locks", "", tenantOnly...)
		locks, _ := r.field("locks").([]any)
		if r.status != 200 || len(locks) != 2 {
			t.Fatalf("got %d %s, want two locks", r.status, r.body)
		}
		first := locks[0].(map[string]any)
		if first["name"] != "job/1" || first["owner"] != "owner-1" || first["left_ms"] != 40000.0 || first["ran_out"] != false ||
			first["by"].(map[string]any)["run"] != "run-1" {
			t.Errorf("got %v", first)
		}
		if r := s.do("GET", "/v1/tenants/b/locks", "", operator...); r.body != `{"locks":[]}` {
			t.Errorf("b: got %s, want none", r.body)
		}
		const path = "/v1/tenants/a/locks/job%2F1"
		s.do("DELETE", path, "", tenantOnly...).want(t, "no owner", 400, "Request.Invalid")
		s.do("DELETE", path+"?owner=other", "", tenantOnly...).want(t, "another owner", 409, "Request.Conflict")
		s.do("DELETE", path+"?owner=owner-1", "", tenantOnly...).want(t, "its owner", 200, "")
		s.do("DELETE", path+"?owner=owner-1", "", tenantOnly...).want(t, "nobody", 404, "Request.NotFound")
		const host = "/v1/tenants/a/locks/native:schedule/x?owner=owner-2"
		s.do("DELETE", host, "", tenantOnly...).want(t, "the host's own", 403, "Request.Forbidden")
		s.do("DELETE", host, "", operator...).want(t, "the host's own, by an operator", 200, "")
		synctest.Wait()
	})
}

func TestALockThatHasRunOutIsShownAsSuch(t *testing.T) {
	row := lock.Row{Until: 1000}
	if got := shownLock(row, time.UnixMilli(1000)); !got.RanOut || got.LeftMillis != 0 {
		t.Errorf("got %+v, want one that has run out", got)
	}
	if got := shownLock(row, time.UnixMilli(999)); got.RanOut || got.LeftMillis != 1 {
		t.Errorf("got %+v, want one that has 1 ms left", got)
	}
}
