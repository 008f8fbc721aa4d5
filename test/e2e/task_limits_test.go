package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/tidelock-lua/tidelock/tenant"
)

func TestTaskLimitsTenantsAsConfigured(t *testing.T) {
	t.Parallel()
	const sleeps = `native.sleep(600000)`
	h := serveTask(t, fast, acme(t, "one", sleeps, "two", sleeps), `
limits: { timeout: 1h }
task: { running: 50, tenant_running: 10, script_running: 10, queue: 10, stop_timeout: 1s }
tenants:
  acme:  { scripts: acme, running: 3, script_running: 2, queue: 1 }
  other: { scripts: acme }
`)
	begin := func(id, script string) taskReply {
		r, err := h.invoke(id, script, ``, "Prefer", "respond-async")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i, test := range []struct {
		script string
		status int
	}{
		{"one", 202}, {"one", 202}, {"one", 202}, // the third waits
		{"two", 202}, {"two", 429}, {"one", 429},
	} {
		if r := begin("acme", test.script); r.status != test.status {
			t.Errorf("invocation %d: got %d %s, want %d", i+1, r.status, r.body, test.status)
		}
	}
	for i := range 10 {
		if r := begin("other", "one"); r.status != 202 {
			t.Errorf("invocation %d of the other tenant: got %d %s, want 202", i+1, r.status, r.body)
		}
	}
	eventually(t, "3 + 10 running", func() bool {
		return strings.Count(h.must("GET", "/v1/invocations?state=running", "").body, `"id"`) == 13
	})
	h.Process.Signal(syscall.SIGTERM)
	h.exit(0)
}

// Whatever is requested, there are no more time series than before.
func TestTaskHasABoundedNumberOfTimeSeries(t *testing.T) {
	t.Parallel()
	h := serveTask(t, fast, acme(t, "one", quietScript), fmt.Sprintf("tenants: { acme: { scripts: acme, tokens: [%q] } }\n", hashOf("t")))
	token := []string{"Authorization", "Bearer t"}
	series := func() int {
		r, err := h.client.Get(h.internal + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "tidelock_") {
				n++
			}
		}
		return n
	}
	ask := func(i int) {
		for _, r := range []struct{ path, event string }{
			{fmt.Sprintf("/v1/tenants/t%d/scripts/one/invocations", i), ""},
			{fmt.Sprintf("/v1/tenants/acme/scripts/s%d/invocations", i), ""},
			{"/v1/tenants/acme/scripts/one/invocations", fmt.Sprintf("{bad %d", i)},
			{"/v1/tenants/acme/scripts/one/invocations", fmt.Sprintf(`"%d"`, i)},
		} {
			h.must("POST", r.path, r.event, append(token, "X-Timeout-Ms", fmt.Sprint(1000+i))...)
			h.must("POST", r.path, r.event, "Authorization", fmt.Sprint("Bearer ", i))
		}
	}
	ask(0)
	before := series()
	for i := range 20 {
		ask(i + 1)
	}
	if after := series(); before == 0 || after != before {
		t.Errorf("got %d time series, and %d after more requests, want as many", before, after)
	}
}

// A client that sends bytes one by one does not keep the host from stopping.
func TestTaskStopsAlthoughRequestsDoNotEnd(t *testing.T) {
	t.Parallel()
	h := serveTask(t, checked, acme(t, "one", quietScript), oneTenant+"task: { stop_timeout: 10s }\n")
	for _, text := range []string{
		"", "POST /v1/ten", "POST /v1/tenants/acme/scripts/one/invocations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
		"POST /v1/tenants/acme/scripts/one/invocations HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"POST /v1/tenants/acme/scripts/one/invocations HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
		"GET /v1/invocations HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.api, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	h.must("GET", "/v1/invocations", "")
	h.Process.Signal(syscall.SIGTERM)
	h.exit(0)
}

func TestTaskBatchWhoseReaderHasGoneReleasesItsLocks(t *testing.T) {
	t.Parallel()
	dir := acme(t, "held", `return function(event)
		return (native.lock.with("job-" .. event.n, { scope = "db", lease_ms = 600000 }, function()
			native.sleep(event.ms)
			return event.n
		end))
	end`)
	write(t, dir, "tidelock.yaml", oneTenant+"limits: { timeout: 1h }\n")
	cmd := exec.Command(checked, "task", "batch")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GORACE="+raceOptions)
	lines := ""
	for n := range 8 {
		lines += fmt.Sprintf(`{"tenant":"acme","script":"held","event":{"n":%d,"ms":%d}}`+"\n", n, n/2*n*300_000)
	}
	cmd.Stdin = strings.NewReader(lines)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Close() // before anything is written
	if err := cmd.Wait(); err == nil {
		t.Error("got exit code 0, want an error: results are lost")
	}
	if names := locksOf(t, dir, tenant.ID("acme")); len(names) > 0 {
		t.Errorf("locks that were not released: %v", names)
	}
}
