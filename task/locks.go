package task

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// reserved is how the names of the host's own locks begin.
const reserved = "native:"

// heldLock is a lock's row as the interface shows it.
type heldLock struct {
	Name  string    `json:"name"`
	Owner string    `json:"owner"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// LeftMillis is the time until the row has run out, on this machine's clock;
	// RanOut says that it has, so that the next to ask gets the lock.
	LeftMillis int64             `json:"left_ms"`
	RanOut     bool              `json:"ran_out"`
	By         map[string]string `json:"by"`
}

func shownLock(row lock.Row, now time.Time) heldLock {
	left := row.Until.Time().Sub(now).Milliseconds()
	return heldLock{
		Name: row.Name, Owner: row.Owner, Since: row.Start.Time(), Until: row.Until.Time(),
		LeftMillis: max(left, 0), RanOut: left <= 0, By: row.By.Attributes(),
	}
}

// locksOf returns the tenant whose locks a request is about, if it exists for
// the caller.
func (h *Host) locksOf(w http.ResponseWriter, r *http.Request, c caller) (tenant.ID, bool) {
	id := tenant.ID(r.PathValue("tenant"))
	if _, known := h.config.Tenants[id]; !known || !c.may(id) {
		refuse(w, tenantUnknown(string(id)))
		return "", false
	}
	if h.config.Table == nil {
		refuse(w, runtime.Errorf(requestNotFound, "there is no table of locks"))
		return "", false
	}
	return id, true
}

// listLocks is GET /v1/tenants/{tenant}/locks?after=: one page of the rows.
func (h *Host) listLocks(w http.ResponseWriter, r *http.Request, c caller) {
	id, ok := h.locksOf(w, r, c)
	if !ok {
		return
	}
	var page lock.Page
	at := again(r.Context(), func(ctx context.Context) outcome.Attempt {
		page = h.config.Table.ListLocks(ctx, id, r.URL.Query().Get("after"))
		return page.Attempt
	})
	if at.Outcome != outcome.Applied {
		h.tableTrouble(w, id, at)
		return
	}
	list := struct {
		Locks []heldLock `json:"locks"`
		After string     `json:"after,omitempty"`
	}{[]heldLock{}, page.After}
	now := time.Now()
	for _, row := range page.Rows {
		list.Locks = append(list.Locks, shownLock(row, now))
	}
	answer(w, http.StatusOK, list)
}

// freeLock is DELETE /v1/tenants/{tenant}/locks/{name}?owner=: the row goes only
// if it still has that owner.
func (h *Host) freeLock(w http.ResponseWriter, r *http.Request, c caller) {
	id, ok := h.locksOf(w, r, c)
	if !ok {
		return
	}
	name, owner := r.PathValue("name"), r.URL.Query().Get("owner")
	switch {
	case owner == "":
		refuse(w, runtime.Errorf(requestInvalid, "owner: want the owner that the list of locks shows"))
		return
	case strings.HasPrefix(name, reserved) && !c.operator:
		refuse(w, runtime.Errorf(requestForbidden, "the lock is the host's: only an operator can free it"))
		return
	}
	lost := false
	var freed lock.RowResult
	at := again(r.Context(), func(ctx context.Context) outcome.Attempt {
		freed = h.config.Table.DeleteLock(ctx, lock.Key{Tenant: id, Name: name}, owner)
		lost = lost || freed.Outcome == outcome.Unknown
		return freed.Attempt
	})
	switch {
	// After an answer that was lost, a refusal means that the row has gone.
	case at.Outcome == outcome.Applied, at.Outcome == outcome.Refused && lost:
		answer(w, http.StatusOK, map[string]bool{"freed": true})
	case at.Outcome == outcome.Refused && freed.Old == nil:
		refuse(w, runtime.Errorf(requestNotFound, "nobody holds the lock %.80q", name))
	case at.Outcome == outcome.Refused:
		refuseAs(w, http.StatusConflict, runtime.Errorf(requestConflict, "the lock %.80q has another owner by now", name))
	default:
		h.tableTrouble(w, id, at)
	}
}

func (h *Host) tableTrouble(w http.ResponseWriter, id tenant.ID, at outcome.Attempt) {
	h.config.Log.Sugar().Errorw("the table of locks did not answer", "tenantId", string(id), "error", at.Err)
	e := runtime.Errorf(runtime.HostInternal, "the table did not answer")
	e.Retryable = true
	refuse(w, e)
}

// Attempts on the table.
const (
	tableTries   = 3
	tableTime    = 1500 * time.Millisecond // of one
	tablePause   = 100 * time.Millisecond  // between two
	outcomeTries = 20                      // of a write whose outcome has to be known
)

// again repeats what may change nothing the second time, until it is answered.
func again(ctx context.Context, once func(context.Context) outcome.Attempt) (at outcome.Attempt) {
	for n := range tableTries {
		if n > 0 && !sleep(ctx, tablePause) {
			return at
		}
		bounded, cancel := context.WithTimeout(ctx, tableTime)
		at = once(bounded)
		cancel()
		if at.Outcome == outcome.Applied || at.Outcome == outcome.Refused {
			return at
		}
	}
	return at
}

// trouble is the error of an attempt that had no usable answer.
func trouble(ctx context.Context, at outcome.Attempt) error {
	return cmp.Or(at.Err, context.Cause(ctx), errNoAnswer)
}

var errNoAnswer = errors.New("the table did not answer")

// sleep waits, and returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
