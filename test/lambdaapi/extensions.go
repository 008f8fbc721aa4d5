package lambdaapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// register registers an internal extension: one that is part of the program.
func (a *API) register(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("Lambda-Extension-Name")
	var request struct {
		Events            []string `json:"events"`
		ConfigurationKeys []string `json:"configurationKeys"`
	}
	err := json.NewDecoder(r.Body).Decode(&request)
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := false
	for _, other := range a.extensions {
		taken = taken || other == name
	}
	kind, message := "", ""
	switch {
	case name == "":
		kind, message = "Extension.InvalidExtensionName", "Empty extension name"
	case err != nil || len(request.ConfigurationKeys) > 0:
		kind, message = "InvalidRequestFormat", fmt.Sprint("the request: ", err)
	case a.polled:
		kind, message = "Extension.RegistrationClosed", "Extension registration closed already"
	case taken:
		kind, message = "Extension.InvalidExtensionState", "Extension with this name already registered"
	}
	for _, event := range request.Events {
		if event != "INVOKE" {
			kind, message = "Extension.InvalidEventType", event+": an internal extension has no such event"
		}
	}
	if kind != "" {
		refuse(w, http.StatusForbidden, kind, message)
		return
	}
	id := fmt.Sprintf("11111111-2222-3333-4444-%012d", len(a.extensions))
	a.extensions[id] = name
	w.Header().Set("Lambda-Extension-Identifier", id)
	writeJSON(w, http.StatusOK, map[string]string{"functionName": "scripts", "functionVersion": "$LATEST", "handler": "bootstrap"})
}

func (a *API) isExtension(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.extensions[id]
	return ok
}
