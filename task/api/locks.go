package api

import (
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/locktable"
	"github.com/tidelock-lua/tidelock/tenant"
)

// hostPrefix is how the names of the host's own locks begin.
const hostPrefix = "native:"

// statusOf describes a row by this machine's clock.
func statusOf(row lock.Row, now time.Time) locktable.Status {
	return locktable.StatusOf(lock.LockInfo{Row: row, Age: now.Sub(row.Start.Time()), Left: row.Until.Time().Sub(now)})
}

// locksOf returns the tenant whose locks a request is about. If the caller may
// not see it, or there is no table of locks, it refuses the request.
func (a *API) locksOf(w http.ResponseWriter, r *http.Request, c caller) (tenant.ID, bool) {
	id := tenant.ID(r.PathValue("tenant"))
	if !c.knows(id) || !c.may(id) {
		refuse(w, tenantUnknown(id))
		return "", false
	}
	if a.config.Locks == nil {
		refuse(w, runtime.Errorf(requestNotFound, "there is no table of locks"))
		return "", false
	}
	return id, true
}

// listLocks is GET /v1/tenants/{tenant}/locks?after=: one page of the rows.
func (a *API) listLocks(w http.ResponseWriter, r *http.Request, c caller) {
	id, ok := a.locksOf(w, r, c)
	if !ok {
		return
	}
	page, err := locktable.List(r.Context(), a.config.Locks, id, r.URL.Query().Get("after"))
	if err != nil {
		a.refuseTable(w, id, err)
		return
	}
	list := struct {
		Locks []locktable.Status `json:"locks"`
		After string             `json:"after,omitempty"`
	}{[]locktable.Status{}, page.After}
	now := time.Now()
	for _, row := range page.Rows {
		list.Locks = append(list.Locks, statusOf(row, now))
	}
	respond(w, http.StatusOK, list)
}

// freeLock is DELETE /v1/tenants/{tenant}/locks/{name}?owner=: it removes the
// row only if that still has this owner.
func (a *API) freeLock(w http.ResponseWriter, r *http.Request, c caller) {
	id, ok := a.locksOf(w, r, c)
	if !ok {
		return
	}
	name, owner := r.PathValue("name"), r.URL.Query().Get("owner")
	switch {
	case owner == "":
		refuse(w, runtime.Errorf(requestInvalid, "owner: want the owner that the list of locks shows"))
		return
	case strings.HasPrefix(name, hostPrefix) && !c.operator:
		refuse(w, runtime.Errorf(requestForbidden, "the lock is the host's: only an operator can free it"))
		return
	}
	target := []zap.Field{zap.String("tenantId", string(id)), zap.String("lock", name), zap.String("owner", owner)}
	freed, row, err := locktable.Free(r.Context(), a.config.Locks, lock.Key{Tenant: id, Name: name}, owner)
	a.audit(r, c, actFree, freed, append(target, zap.Error(outcome.Detailed(err)))...)
	switch {
	case err != nil:
		a.refuseTable(w, id, err)
	case freed:
		respond(w, http.StatusOK, map[string]bool{"freed": true})
	case row == nil:
		refuse(w, runtime.Errorf(requestNotFound, "the lock %.80q is not held", name))
	default:
		refuseAs(w, http.StatusConflict, runtime.Errorf(requestConflict, "the lock %.80q has another owner by now", name))
	}
}

// refuseTable responds that the table of locks did not answer.
func (a *API) refuseTable(w http.ResponseWriter, id tenant.ID, err error) {
	a.config.Log.Error("the table of locks did not answer", zap.String("tenantId", string(id)), zap.Error(outcome.Detailed(err)))
	e := runtime.Errorf(runtime.HostInternal, "the table did not answer")
	e.Retryable = true
	refuse(w, e)
}
