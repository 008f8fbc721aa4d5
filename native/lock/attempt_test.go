package lock_test

import (
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestAcquireCostsOnePutAndOneDelete(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete") // the first is the probe
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete", "put", "delete")
		checkNoRows(t, s)
		checkReleased(t, p, lock.Freed, lock.Freed)
	})
}

func TestPutInDoubtIsRecognisedByItsRow(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{Kind: locktest.AnswerLost})
		l := p.acquire(t, wait(time.Second))
		if l.Row != s.Rows()[0] {
			t.Errorf("got row %+v, want the stored one, %+v", l.Row, s.Rows()[0])
		}
		l.Release(t.Context())
		checkOps(t, s, "put", "put", "delete")
		checkNoRows(t, s)
		if p.resolved != 1 {
			t.Errorf("got %d ambiguities resolved, want 1", p.resolved)
		}
	})
}

func TestOwnerIsNewForEachCall(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.acquire(t) // never released: as after a crash of this call alone
		p2 := start(t, s, 0)
		p2.mustBeHeld(t)
		p2.mustBeHeld(t)
		owners := map[string]bool{}
		for _, put := range s.Requests("put") {
			owners[put.Owner] = true
			if len(put.Owner) != 32 {
				t.Errorf("got owner %q, want 32 hexadecimal digits", put.Owner)
			}
		}
		if len(owners) != 3 {
			t.Errorf("got %d owners in three calls, want 3", len(owners))
		}
	})
}

func TestPutInDoubtIsDeletedAtTheEnd(t *testing.T) {
	for name, kind := range map[string]locktest.FaultKind{"stored": locktest.AnswerLost, "not stored": locktest.Lost} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				p.knowTime(t)
				p.table.Fault = faults("put", locktest.Fault{Kind: kind})
				err := p.mustFail(t, "db_unavailable")
				if err.Op != "lock" || err.Key != theLock.Name {
					t.Errorf("got op %q and key %q, want lock and %q", err.Op, err.Key, theLock.Name)
				}
				checkOps(t, s, "put", "delete")
				checkNoRows(t, s)
				if sent := s.Requests(); sent[len(sent)-1].Owner != sent[len(sent)-2].Owner {
					t.Error("the delete is not by the owner of the put")
				}
			})
		})
	}
}

func TestRefusalSendsNoDelete(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		p.knowTime(t)
		before := len(ops(s))
		p.mustBeHeld(t, wait(3*time.Second))
		for _, op := range ops(s)[before:] {
			if op != "put" {
				t.Errorf("got a %s after refusals, want puts only", op)
			}
		}
	})
}

func TestPutThatLandsAfterItsCallRunsOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{Kind: locktest.Late, After: time.Second})
		started := time.Now()
		p.mustFail(t, "db_unavailable")
		time.Sleep(2 * time.Second)
		if len(s.Rows()) != 1 {
			t.Fatalf("got %d rows, want the late one", len(s.Rows()))
		}
		p.acquire(t, turn, lease(time.Minute))
		if got, bound := time.Since(started), 30*time.Second+lock.DefaultGuard+4*time.Second; got > bound {
			t.Errorf("the lock was free after %v, want at most %v", got, bound)
		}
	})
}

func TestAttemptAfterTheLeaseIsDeleted(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = func(r locktest.Request) locktest.Fault {
			if r.Op == "put" {
				p.machine.Step(30 * time.Second)
			}
			return locktest.Fault{}
		}
		p.mustBeHeld(t, wait(10*time.Second))
		checkOps(t, s, "put", "delete")
		checkNoRows(t, s)
	})
}

func TestAttemptAfterTheWaitIsAccepted(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{After: time.Second})
		p.acquire(t, wait(100*time.Millisecond)).Release(t.Context())
	})
}

func TestAttemptReplacesARowThatHasRunOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		s.Store(lock.Row{Key: theLock, Owner: "crashed", Until: lock.UnixMilli(time.Now().Add(-2 * time.Second).UnixMilli())})
		p := start(t, s, 0)
		p.knowTime(t)
		p.acquire(t)
		checkOps(t, s, "put")
	})
}
