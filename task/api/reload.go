package api

import (
	"errors"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
)

// reload is POST /v1/reload.
func (a *API) reload(w http.ResponseWriter, r *http.Request, c caller) {
	switch {
	case !c.operator:
		refuse(w, runtime.Errorf(requestForbidden, "only an operator can reload the configuration"))
		return
	case a.config.Reload == nil:
		notFound(w)
		return
	}
	err := a.config.Reload()
	a.audit(r, c, actReload, err == nil, zap.Error(err))
	if err == nil {
		respond(w, http.StatusOK, map[string]bool{"ok": true})
		return
	}
	respond(w, http.StatusUnprocessableEntity, struct {
		OK     bool           `json:"ok"`
		Error  *runtime.Error `json:"error"`
		Errors []string       `json:"errors"`
	}{Error: runtime.Errorf(runtime.HostConfigInvalid, "the configuration was not reloaded, the old one goes on"), Errors: mistakes(err)})
}

// mistakes are the mistakes of a configuration, each a text.
func mistakes(err error) (all []string) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return strings.Split(err.Error(), "\n")
	}
	for _, one := range joined.Unwrap() {
		all = append(all, mistakes(one)...)
	}
	return all
}
