package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A service that scales in or deploys is told to leave a task alone in which a
// script has been running for long.
func TestTaskProtectionCoversLongRuns(t *testing.T) {
	requests := make(chan string, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		requests <- r.Method + " " + r.URL.Path + " " + string(text)
		expiry := time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)
		io.WriteString(w, `{"protection":{"ExpirationDate":"`+expiry+`","ProtectionEnabled":true,"TaskArn":"arn:x"},"requestID":"1"}`)
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
