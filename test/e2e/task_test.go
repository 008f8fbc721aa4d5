package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/tenant"
)

// taskHost is a running `tidelock task serve`.
type taskHost struct {
	*exec.Cmd
	t             *testing.T
	api, internal string // addresses
	client        *http.Client

	mu    sync.Mutex // guards lines
	lines []string   // of its log
	ended chan struct{}
}

// serveTask starts a host in dir, whose tidelock.yaml is config. Its addresses
// are added.
func serveTask(t *testing.T, binary, dir, config string, args ...string) *taskHost {
	t.Helper()
	h := prepareTask(t, binary, dir, config, args...)
	h.run()
	for h.api == "" {
		select {
		case <-h.ended:
			t.Fatalf("the host ended: %v\n%s", h.ProcessState, h.log())
		case <-time.After(time.Millisecond):
		}
		h.mu.Lock()
		for _, line := range h.lines {
			var record struct{ Message, Listen, InternalListen string }
			if json.Unmarshal([]byte(line), &record) == nil && record.Message == "serving" {
				h.api, h.internal = "http://"+record.Listen, "http://"+record.InternalListen
			}
		}
		h.mu.Unlock()
	}
	return h
}

func prepareTask(t *testing.T, binary, dir, config string, args ...string) *taskHost {
	t.Helper()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "tidelock.yaml", config)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	h := &taskHost{
		t: t, ended: make(chan struct{}),
		Cmd:    exec.CommandContext(ctx, binary, append([]string{"task", "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"}, args...)...),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
	}
	h.Dir = dir
	h.Env = append(os.Environ(), "GORACE="+raceOptions, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	t.Cleanup(func() { cancel(); h.client.CloseIdleConnections() })
	return h
}

// run starts the process and collects its log.
func (h *taskHost) run() {
	h.t.Helper()
	stderr, err := h.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		lines := bufio.NewReader(stderr)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				h.mu.Lock()
				h.lines = append(h.lines, strings.TrimSuffix(line, "\n"))
				h.mu.Unlock()
			}
			if err != nil {
				break
			}
		}
		_ = h.Wait() // how it ended is in ProcessState
	}()
	h.t.Cleanup(func() { h.Process.Kill(); <-h.ended })
}

func (h *taskHost) log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.lines, "\n")
}

// exit waits for the end and checks the exit code.
func (h *taskHost) exit(code int) {
	h.t.Helper()
	select {
	case <-h.ended:
	case <-time.After(2 * time.Minute):
		h.t.Fatalf("the host does not end\n%s", h.log())
	}
	if got := h.ProcessState.ExitCode(); got != code {
		h.t.Errorf("got %v, want exit code %d\n%s", h.ProcessState, code, h.log())
	}
}

// taskReply is the response to a request.
type taskReply struct {
	status int
	id     string
	value  any
	kind   string // of its error
	body   string
}

// send sends a request; header is names and values in turn.
func (h *taskHost) send(ctx context.Context, method, url, body string, header ...string) (r taskReply, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	for pair := range slices.Chunk(header, 2) {
		request.Header.Add(pair[0], pair[1])
	}
	answer, err := h.client.Do(request)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return r, err
	}
	var v struct {
		ID    string
		OK    *bool
		Value any
		Error struct{ Type string }
	}
	err = json.Unmarshal(text, &v)
	return taskReply{answer.StatusCode, v.ID, v.Value, v.Error.Type, string(bytes.TrimSpace(text))}, err
}

// invoke runs a tenant's script.
func (h *taskHost) invoke(id, script, event string, header ...string) (taskReply, error) {
	return h.send(h.t.Context(), "POST", h.api+"/v1/tenants/"+id+"/scripts/"+script+"/invocations", event, header...)
}

// must sends a request that must have a response.
func (h *taskHost) must(method, path, body string, header ...string) taskReply {
	h.t.Helper()
	r, err := h.send(h.t.Context(), method, h.api+path, body, header...)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// eventually waits until holds returns true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// locksOf returns the locks that a tenant has in an embedded database.
func locksOf(t *testing.T, dir string, ids ...tenant.ID) (names []string) {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "tidelock.db"), clock.NewDual(clock.System()), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range ids {
		page := s.ListLocks(t.Context(), id, "")
		if page.Err != nil {
			t.Fatal(page.Err)
		}
		for _, row := range page.Rows {
			names = append(names, string(id)+"/"+row.Name)
		}
	}
	return names
}

// floodScript works under a lock of its own.
const floodScript = `return function(event)
	return (native.lock.with("job-" .. event.n, { lease_ms = 60000, wait_ms = 30000 }, function()
		native.sleep(100)
	end))
end`

// quietScript does next to nothing.
const quietScript = `return 1`

// A tenant floods the host with a thousand slow scripts. 199 others come with
// one each and overtake it; then the host is asked to stop.
func TestTaskServesQuietTenantsBeforeAFloodAndAnswersAllOnce(t *testing.T) {
	t.Parallel()
	const flood, quiet, runs = 1000, 199, 8
	dir := t.TempDir()
	config := "limits: { timeout: 60s }\ntask: { running: 16, tenant_running: 8, script_running: 8, queue: 1000, stop_timeout: 60s }\ntenants:\n"
	for i := range quiet + 1 {
		folder := filepath.Join(dir, fmt.Sprint("t", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, folder, "work.lua", map[bool]string{true: floodScript, false: quietScript}[i == 0])
		config += fmt.Sprintf("  t%d: { scripts: t%d }\n", i, i)
	}
	h := serveTask(t, fast, dir, config)
	var accepted, answered, done, refused atomic.Int32
	var callers sync.WaitGroup
	for n := range flood {
		callers.Go(func() {
			accepted.Add(1)
			r, err := h.invoke("t0", "work", fmt.Sprintf(`{"n":%d}`, n))
			switch {
			case err != nil:
				t.Errorf("no answer: %v", err)
			case r.status == 200 && r.value == true:
				done.Add(1)
			case r.status == 503 && r.kind == "Host.Shutdown":
				refused.Add(1)
			default:
				t.Errorf("got %d %s", r.status, r.body)
			}
			answered.Add(1)
		})
	}
	eventually(t, "the flood", func() bool {
		list := h.must("GET", "/v1/invocations?state=queued", "")
		return strings.Count(list.body, `"id"`)+int(done.Load())+runs >= flood*9/10
	})
	var mu sync.Mutex // guards waits
	var waits []time.Duration
	var overtaken int32
	var quietOnes sync.WaitGroup
	for i := range quiet {
		quietOnes.Go(func() {
			before, from := done.Load(), time.Now()
			r, err := h.invoke(fmt.Sprint("t", i+1), "work", ``)
			if err != nil || r.status != 200 {
				t.Errorf("got %d %s, %v", r.status, r.body, err)
			}
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, time.Since(from))
			overtaken = max(overtaken, done.Load()-before)
		})
	}
	quietOnes.Wait()
	if n := answered.Load(); n > flood*3/4 || overtaken > flood/4 {
		t.Errorf("%d of the flood were answered when the last quiet one was, %d while one of them waited: want few", n, overtaken)
	}
	slices.Sort(waits)
	t.Logf("quiet tenants waited %v (median), %v (p99), %v at most; %d of the flood were done meanwhile",
		waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1], overtaken)

	h.Process.Signal(syscall.SIGTERM)
	callers.Wait()
	h.exit(0)
	if done.Load()+refused.Load() != flood || refused.Load() == 0 {
		t.Errorf("got %d done and %d refused of %d", done.Load(), refused.Load(), flood)
	}
	// On a machine with much else to do the file may have been too busy.
	busy := strings.Count(h.log(), "a lock was not released")
	if names := locksOf(t, dir, "t0"); len(names) > busy {
		t.Errorf("locks that were not released: %v, %d of them for want of an answer", names, busy)
	}
	// Its log has one record for each.
	records := strings.Count(h.log(), `"message":"run ended"`) + strings.Count(h.log(), `"message":"run failed"`)
	if want := flood + quiet; records != want {
		t.Errorf("got %d records of runs, want %d", records, want)
	}
}

// oneTenant is the configuration of a host with the tenant acme, whose scripts
// lie in acme.
const oneTenant = "tenants: { acme: { scripts: acme } }\n"

// acme makes the folder of its scripts, from names and sources in turn.
func acme(t *testing.T, scripts ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, "acme")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(scripts, 2) {
		write(t, folder, pair[0]+".lua", pair[1])
	}
	return dir
}

func (h *taskHost) ready() bool {
	r, err := h.send(h.t.Context(), "GET", h.internal+"/readyz", "")
	return err == nil && r.status == 200
}

func TestTaskCancelsWhatRunsAtASecondSignal(t *testing.T) {
	t.Parallel()
	dir := acme(t, "held", held)
	h := serveTask(t, checked, dir, oneTenant+"task: { stop_timeout: 100s }\n")
	replies := make(chan taskReply, 3)
	for range 3 { // two wait for the lock's holder in vain
		go func() {
			r, err := h.invoke("acme", "held", ``)
			if err != nil {
				t.Error(err)
			}
			replies <- r
		}()
	}
	for range 2 {
		if r := <-replies; r.value != false {
			t.Errorf("got %s, want false", r.body)
		}
	}
	if !h.ready() {
		t.Error("the host is not ready")
	}
	h.Process.Signal(syscall.SIGTERM)
	eventually(t, "not ready", func() bool { return !h.ready() })
	if r, err := h.invoke("acme", "held", ``); err != nil || r.status != 503 || r.kind != "Host.Shutdown" {
		t.Errorf("got %d %s, %v, want 503", r.status, r.body, err)
	}
	select {
	case r := <-replies:
		t.Fatalf("got %s: the run has its time after the first signal", r.body)
	default:
	}
	h.Process.Signal(syscall.SIGTERM)
	if r := <-replies; r.status != 503 || r.kind != "Host.Shutdown" {
		t.Errorf("got %d %s, want Host.Shutdown", r.status, r.body)
	}
	h.exit(0)
	if names := locksOf(t, dir, "acme"); len(names) > 0 {
		t.Errorf("locks that were not released: %v", names)
	}
}

func TestTaskThatIsIdleEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := serveTask(t, fast, acme(t, "one", quietScript), oneTenant+"task: { stop_timeout: 600h }\n")
	if r, err := h.invoke("acme", "one", ``); err != nil || r.value != 1.0 {
		t.Errorf("got %s, %v", r.body, err)
	}
	h.Process.Signal(syscall.SIGTERM)
	h.exit(0)
}

func TestTaskEndsTheRunOfACallerThatHangsUp(t *testing.T) {
	t.Parallel()
	h := serveTask(t, checked, acme(t, "held", held), oneTenant)
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		h.send(ctx, "POST", h.api+"/v1/tenants/acme/scripts/held/invocations", "")
	}()
	const locks = "/v1/tenants/acme/locks"
	eventually(t, "the lock", func() bool { return strings.Contains(h.must("GET", locks, "").body, `"name":"job"`) })
	hangUp()
	<-gone
	eventually(t, "no lock", func() bool { return h.must("GET", locks, "").body == `{"locks":[]}` })
	eventually(t, "nothing runs", func() bool {
		return h.must("GET", "/v1/invocations?state=running", "").body == `{"invocations":[]}`
	})
	if !strings.Contains(h.log(), `"errorType":"Script.Cancelled"`) {
		t.Errorf("got no record of it:\n%s", h.log())
	}
}

func TestTaskThatOthersCanReachNeedsTokens(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		h := prepareTask(t, fast, acme(t, "one", quietScript), oneTenant, "--listen", address)
		h.run()
		h.exit(2)
		if !strings.Contains(h.log(), "there are no tokens") {
			t.Errorf("%s: got %s, want why it is refused", address, h.log())
		}
	}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func TestTaskTokenIsForItsOwnTenantAlone(t *testing.T) {
	t.Parallel()
	dir := acme(t, "held", held)
	h := serveTask(t, checked, dir, fmt.Sprintf(`tenants:
  acme: { scripts: acme, tokens: [%q] }
  evil: { scripts: acme, tokens: [%q] }
task: { operator_tokens: [%q], listen: "0.0.0.0:0" }
`, hashOf("acme's"), hashOf("evil's"), hashOf("operator's")), "--listen", "0.0.0.0:0")
	h.api = strings.Replace(h.api, "[::]", "127.0.0.1", 1)
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	id := h.must("POST", "/v1/tenants/acme/scripts/held/invocations", "", append(as("acme's"), "Prefer", "respond-async")...).id
	var locks struct {
		Locks []struct{ Name, Owner string }
	}
	eventually(t, "the lock", func() bool {
		json.Unmarshal([]byte(h.must("GET", "/v1/tenants/acme/locks", "", as("acme's")...).body), &locks)
		return len(locks.Locks) == 1
	})
	for _, request := range [][2]string{
		{"POST", "/v1/tenants/acme/scripts/held/invocations"}, {"GET", "/v1/invocations/" + id}, {"DELETE", "/v1/invocations/" + id},
		{"GET", "/v1/tenants/acme/locks"}, {"DELETE", "/v1/tenants/acme/locks/job?owner=" + locks.Locks[0].Owner},
	} {
		if r := h.must(request[0], request[1], "", as("evil's")...); r.status != 404 {
			t.Errorf("%s by another tenant: got %d %s, want 404", request, r.status, r.body)
		}
		if r := h.must(request[0], request[1], "", as("nobody's")...); r.status != 401 {
			t.Errorf("%s by nobody: got %d %s, want 401", request, r.status, r.body)
		}
	}
	if r := h.must("GET", "/v1/invocations", "", as("evil's")...); r.body != `{"invocations":[]}` {
		t.Errorf("another tenant's list: got %s, want none", r.body)
	}
	if r := h.must("GET", "/v1/invocations/"+id, "", as("operator's")...); !strings.Contains(r.body, `"running"`) {
		t.Errorf("got %s, want it to run still", r.body)
	}
	if r := h.must("DELETE", "/v1/tenants/acme/locks/job?owner="+locks.Locks[0].Owner, "", as("acme's")...); r.body != `{"freed":true}` {
		t.Errorf("got %d %s, want it freed", r.status, r.body)
	}
	if r := h.must("DELETE", "/v1/invocations/"+id, "", as("operator's")...); r.status != 202 && r.status != 200 {
		t.Errorf("got %d %s, want it cancelled", r.status, r.body)
	}
}

func TestTaskLogsValidLinesHoweverMuchScriptsPrint(t *testing.T) {
	t.Parallel()
	const scripts = 100
	h := serveTask(t, checked, acme(t, "long", `return function(event)
		for i = 1, 5 do
			print(event.n .. string.rep("long \n\"line\" \t", 400 * i))
			native.log.warn("with fields", { text = string.rep("\27[31m", 1000), n = i })
			native.sleep(1)
		end
	end`), oneTenant+"task: { running: 100, tenant_running: 100, script_running: 100 }\n")
	var callers sync.WaitGroup
	for n := range scripts {
		callers.Go(func() {
			if r, err := h.invoke("acme", "long", fmt.Sprintf(`{"n":%d}`, n)); err != nil || r.status != 200 {
				t.Errorf("got %d %s, %v", r.status, r.body, err)
			}
		})
	}
	callers.Wait()
	h.Process.Signal(syscall.SIGTERM)
	h.exit(0)
	messages := 0
	for _, line := range h.lines {
		var record struct{ Message, Timestamp, Level, RunID string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Timestamp == "" || record.Level == "" {
			t.Fatalf("%v: %.200q", err, line)
		}
		if len(line) > 16<<10 {
			t.Fatalf("a line has %d bytes, want 16 KiB at most", len(line))
		}
		if record.RunID != "" && !strings.HasPrefix(record.Message, "run ") {
			messages++
		}
	}
	if want := scripts * 10; messages != want {
		t.Errorf("got %d messages of scripts, want %d", messages, want)
	}
}

func TestTaskBatchThatIsInterruptedExitsSo(t *testing.T) {
	t.Parallel()
	dir := acme(t, "work", `return function(event) print("running") native.sleep(event.ms) return event.ms end`)
	write(t, dir, "tidelock.yaml", oneTenant+"task: { stop_timeout: 60s }\n")
	cmd := exec.Command(checked, "task", "batch", "--concurrency", "2")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GORACE="+raceOptions)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range 4 { // and the input stays open
		fmt.Fprintf(in, `{"id":%d,"tenant":"acme","script":"work","event":{"ms":1000}}`+"\n", i)
	}
	running := 0
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), `"running"`) {
			if running++; running == 2 {
				cmd.Process.Signal(syscall.SIGTERM)
			}
		}
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 143 {
		t.Errorf("got %v, want exit code 143", err)
	}
	var got [3]int // ok, not started, else
	for line := range strings.Lines(out.String()) {
		var l struct {
			OK         bool
			NotStarted bool `json:"not_started"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("%v: %q", err, line)
		}
		switch {
		case l.OK:
			got[0]++
		case l.NotStarted:
			got[1]++
		default:
			got[2]++
		}
	}
	if got[0] != 2 || got[1] == 0 || got[2] != 0 || running != 2 {
		t.Errorf("got %v of %d that ran, want 2 that were finished and the rest not started\n%s", got, running, out.String())
	}
}
