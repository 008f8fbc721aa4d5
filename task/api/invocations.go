package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
)

// Causes of cancellation, as results show them.
var (
	errOnRequest = errors.New("on request")
	errGone      = errors.New("the caller has gone")
)

// invoke is POST /v1/tenants/{tenant}/scripts/{script...}/invocations.
func (a *API) invoke(w http.ResponseWriter, r *http.Request, c caller) {
	script, ok := strings.CutSuffix(r.PathValue("script"), "/invocations")
	if !ok {
		notFound(w)
		return
	}
	request, failed := a.read(w, r, c, script)
	var inv Invocation
	if failed == nil {
		inv, failed = a.config.Host.Start(a.config.Context(context.Background(), r.Header), request)
	}
	if failed != nil {
		if refused := a.config.Refused; refused != nil {
			refused(failed.Type)
		}
		refuse(w, failed)
		return
	}
	if _, async := prefers(r.Header, "respond-async"); async {
		w.Header().Set("Location", "/v1/invocations/"+inv.ID())
		w.Header().Set("Preference-Applied", "respond-async")
		show(w, http.StatusAccepted, inv)
		return
	}
	select {
	case <-inv.Done():
		line, failure := inv.Result()
		code := http.StatusOK
		if failure != nil {
			code = status(failure.Type)
		}
		write(w, code, line)
	case <-r.Context().Done():
		if request.Key == "" { // with a key, the caller can come back
			a.config.Host.Cancel(inv.ID(), errGone)
		}
	}
}

// find returns the invocation that a request is about. If there is none that
// the caller may see, it refuses the request.
func (a *API) find(w http.ResponseWriter, r *http.Request, c caller) (inv Invocation, ok bool) {
	id := r.PathValue("id")
	inv, ok = a.config.Host.Find(id)
	if !ok || !c.may(inv.Tenant()) {
		refuse(w, runtime.Errorf(requestNotFound, "there is no invocation %.40q, or its result is not kept any more", id))
		return nil, false
	}
	return inv, true
}

// waitMax is the longest wait for a result, in seconds.
const waitMax = 3600

// get is GET /v1/invocations/{id}. With Prefer: wait=SECONDS it waits for the
// result.
func (a *API) get(w http.ResponseWriter, r *http.Request, c caller) {
	inv, ok := a.find(w, r, c)
	if !ok {
		return
	}
	text, _ := prefers(r.Header, "wait")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		timer := time.NewTimer(time.Duration(min(seconds, waitMax)) * time.Second)
		defer timer.Stop()
		select {
		case <-inv.Done():
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	show(w, http.StatusOK, inv)
}

// cancel is DELETE /v1/invocations/{id}. It answers 202 as long as the
// invocation isn't over.
func (a *API) cancel(w http.ResponseWriter, r *http.Request, c caller) {
	inv, ok := a.find(w, r, c)
	if !ok {
		return
	}
	select {
	case <-inv.Done(): // nothing is changed
	default:
		a.config.Host.Cancel(inv.ID(), errOnRequest)
		a.audit(r, c, actCancel, true, zap.String("tenantId", string(inv.Tenant())), zap.String("runId", inv.ID()))
	}
	code := http.StatusAccepted
	select {
	case <-inv.Done():
		code = http.StatusOK
	default:
	}
	show(w, code, inv)
}

func show(w http.ResponseWriter, code int, inv Invocation) {
	s := inv.Status()
	s.Result = bytes.TrimSuffix(s.Result, []byte("\n"))
	respond(w, code, s)
}

// pageMax is how many entries a list has at most.
const pageMax = 1000

// list is GET /v1/invocations?state=&tenant=&after=. It leaves results out.
func (a *API) list(w http.ResponseWriter, r *http.Request, c caller) {
	query := r.URL.Query()
	state, id, after := State(query.Get("state")), query.Get("tenant"), query.Get("after")
	if err := state.valid(); err != nil {
		refuse(w, runtime.Errorf(requestInvalid, "%v", err))
		return
	}
	page := struct {
		Invocations []Status `json:"invocations"`
		After       string   `json:"after,omitempty"`
	}{Invocations: []Status{}}
	for _, inv := range a.config.Host.Invocations() {
		if !c.may(inv.Tenant()) || id != "" && id != string(inv.Tenant()) || inv.ID() <= after {
			continue
		}
		if s := inv.Status(); state == "" || state == s.State {
			s.Result = nil
			page.Invocations = append(page.Invocations, s)
		}
	}
	slices.SortFunc(page.Invocations, func(a, b Status) int { return strings.Compare(a.ID, b.ID) })
	if len(page.Invocations) > pageMax {
		page.Invocations = page.Invocations[:pageMax]
		page.After = page.Invocations[pageMax-1].ID
	}
	respond(w, http.StatusOK, page)
}
