package dynamo_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// hold acquires an uncontended lock and releases it.
func hold(t testing.TB, locks *lock.Locks) {
	t.Helper()
	lease, err := locks.Acquire(t.Context(), lock.Request{Key: lock.Key{Tenant: "acme", Name: "job"}, Lease: time.Minute})
	if err != nil {
		t.Fatalf("got error %v, want a lease", err)
	}
	lease.Release(t.Context())
}

func TestUncontendedLockCostsTwoRequests(t *testing.T) {
	for _, test := range []struct {
		name  string
		first bool // a request of native.db comes first, and shows the time
		want  []string
	}{
		{"the first acquisition learns the time of the table", false, []string{"DeleteItem", "PutItem", "DeleteItem", "PutItem", "DeleteItem"}},
		{"native.db shows the time", true, []string{"GetItem", "PutItem", "DeleteItem", "PutItem", "DeleteItem"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := newFake(t, success)
			service.answerTo = func(n int, r request) answer {
				if n == 1 && r.op == "DeleteItem" {
					return refusal("{}")
				}
				return success
			}
			dual := systemClock()
			s := open(t, dual, service.options())
			clk := lock.NewTableClock(0, nil)
			locks, err := lock.New(dual, s, clk, lock.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if test.first {
				f := dbtest.NewFixture(t, s, dbtest.NewClock())
				p, err := db.New(s, dual, clk.Observe).Open("acme", "users")
				if err == nil {
					_, err = p.Get(t.Context(), f.Scope, "key", false)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			hold(t, locks)
			hold(t, locks)
			if got := service.ops(); !slices.Equal(got, test.want) {
				t.Errorf("requests are %v, want %v", got, test.want)
			}
		})
	}
}

func TestPutLockWithoutADateIsUnknown(t *testing.T) {
	service := newFake(t)
	service.answerTo = func(int, request) answer {
		return answer{status: 200, body: "{}", header: func(h http.Header) { h["Date"] = nil }} // or the server adds one
	}
	s := open(t, systemClock(), service.options())
	row := lock.Row{Key: lock.Key{Tenant: "acme", Name: "job"}, Owner: "me"}
	if a := s.PutLock(t.Context(), row, 1); a.Outcome != outcome.Unknown || a.Err == nil {
		t.Errorf("got outcome %d and %v, want unknown", a.Outcome, a.Err)
	}
}
