package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A task in which a script has been running for long asks its service not to end
// it by scaling in or deploying.
func TestTaskProtectionCoversLongRuns(t *testing.T) {
	requests := make(chan string, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		requests <- r.Method + " " + r.URL.Path + " " + string(text)
		io.WriteString(w, `{"protection":{"ProtectionEnabled":true}}`)
	}))
	defer agent.Close()
	t.Setenv("ECS_AGENT_URI", agent.URL+"/api/one")
	h := serveTask(t, fast, acme(t, "long", `return function() native.sleep(600000) end`), oneTenant+"task: { protect_after: 1ms }\n")
	go h.send(t.Context(), "POST", h.api+"/v1/tenants/acme/scripts/long/invocations", "")
	want := `PUT /api/one/task-protection/v1/state {"ExpiresInMinutes":120,"ProtectionEnabled":true}`
	if got := <-requests; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
