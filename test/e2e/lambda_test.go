package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/tenant"
	"github.com/tidelock-lua/tidelock/test/lambdaapi"
)

// bootstrap builds the program for AWS Lambda with the race detector.
var bootstrap = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(checked), "bootstrap")
	build := exec.Command("go", "build", "-race", "-o", path, "../../cmd/bootstrap")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s%w", out, err)
	}
	return path, nil
})

// function is a run of the program for AWS Lambda, with a fake of the platform.
type function struct {
	*exec.Cmd
	*lambdaapi.API
	t   *testing.T
	dir string
	log chan string // records
}

// startFunction starts the program in a copy of testdata/lambda; env are
// variables besides the platform's.
func startFunction(t *testing.T, env ...string) *function {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/lambda")); err != nil {
		t.Fatal(err)
	}
	return startFunctionIn(t, dir, env...)
}

func startFunctionIn(t *testing.T, dir string, env ...string) *function {
	t.Helper()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	binary, err := bootstrap()
	if err != nil {
		t.Fatal(err)
	}
	f := &function{Cmd: exec.CommandContext(t.Context(), binary), API: lambdaapi.Start(t), t: t, dir: dir, log: make(chan string, 10_000)}
	f.Stderr = os.Stderr // of the race detector and of panics
	f.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "GORACE=" + raceOptions,
		"AWS_LAMBDA_RUNTIME_API=" + f.Address, "LAMBDA_TASK_ROOT=" + dir, "AWS_REGION=" + region,
		"AWS_LAMBDA_FUNCTION_NAME=scripts", "AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/scripts", "AWS_LAMBDA_LOG_STREAM_NAME=2026/10/08/[$LATEST]1",
		"AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_LAMBDA_LOG_LEVEL=DEBUG",
	}, env...)
	out, err := f.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range env {
		if n, ok := strings.CutPrefix(v, "AWS_LAMBDA_MAX_CONCURRENCY="); ok {
			if f.MaxConcurrency, err = strconv.Atoi(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(f.log)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.log <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = f.Process.Kill() // has ended already, or ends now
		for range f.log {
		}
	})
	return f
}

// logged reads the log up to the n-th record with a text in it, and returns
// that record.
func (f *function) logged(text string, n int) string {
	f.t.Helper()
	for {
		record := lambdaapi.Await(f.t, fmt.Sprintf("%q in the log", text), f.log)
		if record == "" {
			f.t.Fatalf("the log ended before %q", text)
		}
		if !json.Valid([]byte(record)) {
			f.t.Errorf("a line of the log is no record: %s", record)
		}
		if strings.Contains(record, text) {
			if n--; n <= 0 {
				return record
			}
		}
	}
}

// ended waits for the process and returns its exit code.
func (f *function) ended() int {
	f.t.Helper()
	ended := make(chan struct{})
	go func() {
		for range f.log {
		}
		_ = f.Wait() // its exit code is what counts
		close(ended)
	}()
	lambdaapi.Await(f.t, "the end of the program", ended)
	return f.ProcessState.ExitCode()
}

// envelope is an event for a script.
func envelope(script, event string) string {
	return `{"tenant":"acme","script":"` + script + `","event":` + event + `}`
}

const isolatedARN = lambdaapi.FunctionARN + ":isolated"

// sqs is a message of a queue.
func sqs(queue, id, body, group string) string {
	return `{"messageId":"` + id + `","receiptHandle":"h","body":"` + body + `","attributes":{"MessageGroupId":"` + group + `"},"messageAttributes":{},` +
		`"md5OfBody":"x","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:` + queue + `","awsRegion":"eu-west-1"}`
}

func batchOf(messages ...string) string { return `{"Records":[` + strings.Join(messages, ",") + `]}` }

func request(method, path, body string, base64 bool) string {
	return fmt.Sprintf(`{"version":"2.0","routeKey":"$default","rawPath":%q,"rawQueryString":"","headers":{"host":"x"},`+
		`"requestContext":{"http":{"method":%q,"path":%q,"sourceIp":"192.0.2.1"},"requestId":"r"},"body":%q,"isBase64Encoded":%v}`, path, method, path, body, base64)
}

// One process answers them all: none of these ends the environment.
func TestLambdaAnswersEachInvocation(t *testing.T) {
	t.Parallel()
	f := startFunction(t)
	lambdaapi.Await(t, "the first poll", f.Ready)
	lambdaapi.Await(t, "an extension, without which there is no SIGTERM", f.Registered)
	const failure = `{"errorMessage":"%s","errorType":"%s"}`
	const at = `,"stackTrace":[{"path":"raise.lua","line":%d,"label":"%s"}`
	for _, test := range []struct {
		name string
		lambdaapi.Invocation
		path, body string
	}{
		{"a value", lambdaapi.Invocation{Payload: envelope("echo", `{"a":[1,"é<"],"n":9007199254740992}`)}, "response", `{"a":[1,"é<"],"n":9007199254740992}`},
		{"nothing", lambdaapi.Invocation{Payload: envelope("nothing", `1`)}, "response", `null`},
		{"a table that looks like an error", lambdaapi.Invocation{Payload: envelope("echo", `{"errorMessage":"m","errorType":"t"}`)}, "response",
			`{"errorMessage":"m","errorType":"t"}`},
		{"a raised string", lambdaapi.Invocation{Payload: envelope("raise", `null`)}, "error",
			`{"errorMessage":"raise.lua:2: no such order","errorType":"Script.RuntimeError"` + fmt.Sprintf(at, 2, "inner") + `,{"path":"raise.lua","line":6,"label":"function at raise.lua:4"}]}`},
		{"a raised table with code", lambdaapi.Invocation{Payload: envelope("raise", `{"code":"no_stock","message":"none left"}`)}, "error",
			`{"errorMessage":"no_stock: none left","errorType":"Script.Raised"` + fmt.Sprintf(at, 5, "function at raise.lua:4") + `]}`},
		{"a script that never ends", lambdaapi.Invocation{Payload: envelope("spin", `1`), Timeout: 5 * time.Second}, "error",
			"the run took longer than the "},
		{"a limit of the tenant's own", lambdaapi.Invocation{Payload: `{"tenant":"beta","script":"spin"}`}, "error",
			`{"errorMessage":"the run took longer than its timeout of 500ms","errorType":"Script.Timeout","stackTrace":` +
				`[{"path":"spin.lua","line":1,"label":"function at spin.lua:1"},{"path":"spin.lua","line":1,"label":"main chunk"}]}`},
		{"a result that is too large", lambdaapi.Invocation{Payload: envelope("large", `{"bytes":6291455}`)}, "error",
			fmt.Sprintf(failure, "the result has more bytes than the 6291456 that are allowed", "Result.TooLarge")},
		{"a result that is no text", lambdaapi.Invocation{Payload: envelope("binary", `1`)}, "error",
			fmt.Sprintf(failure, "result.items[2].name: a string that is not UTF-8", "Result.NotSerializable")},
		{"no event", lambdaapi.Invocation{ARN: isolatedARN, Tenant: "beta"}, "response", `"beta"`},
		{"null", lambdaapi.Invocation{Payload: "null", ARN: isolatedARN, Tenant: "acme"}, "response", `"acme"`},
		{"an empty table", lambdaapi.Invocation{Payload: "{}", ARN: isolatedARN, Tenant: "acme"}, "response", `"acme"`},
		{"an event that is no JSON", lambdaapi.Invocation{Payload: `{"a":`}, "error", fmt.Sprintf(failure, "the event is not JSON: the text ends too soon", "Event.Invalid")},
		{"an event that is no text", lambdaapi.Invocation{Payload: "\"\xff\""}, "error", fmt.Sprintf(failure, "the event is not JSON: not valid UTF-8", "Event.Invalid")},
		{"an unknown tenant", lambdaapi.Invocation{Payload: `{"tenant":"gamma","script":"echo"}`}, "error",
			fmt.Sprintf(failure, `there is no tenant \"gamma\"`, "Tenant.Unknown")},
		{"another tenant than the platform's", lambdaapi.Invocation{Payload: envelope("echo", "1"), Tenant: "beta"}, "error",
			fmt.Sprintf(failure, "the event names another tenant than the one that it belongs to", "Tenant.Mismatch")},
		{"a script that is not there", lambdaapi.Invocation{Payload: envelope("missing", "1")}, "error",
			fmt.Sprintf(failure, `tenant acme has no script \"missing\"`, "Script.NotFound")},
		{"a request", lambdaapi.Invocation{Payload: request("POST", "/bytes", "AP+ACg==", true)}, "response",
			`{"statusCode":201,"headers":{"content-type":"application/octet-stream","x-path":"/bytes"},"cookies":["a=1; Path=/","b=2"],"body":"AP+ACg==","isBase64Encoded":true}`},
		{"a request that takes too long", lambdaapi.Invocation{Payload: request("GET", "/slow", "", false)}, "response", `{"statusCode":504,"headers":{"content-type":"application/json"},` +
			`"body":"{\"error\":{\"message\":\"the run took longer than its timeout of 500ms\",\"retryable\":false,\"type\":\"Script.Timeout\"},` +
			`\"request_id\":\"ID\"}","isBase64Encoded":false}`},
		{"a request of a REST API", lambdaapi.Invocation{Payload: `{"resource":"/bytes","path":"/bytes","httpMethod":"POST","multiValueHeaders":{"a":["b"]},` +
			`"requestContext":{"requestId":"r"},"body":"text","isBase64Encoded":false}`}, "response",
			`{"statusCode":201,"multiValueHeaders":{"content-type":["text/plain; charset=utf-8"],"set-cookie":["a=1; Path=/","b=2"],"x-path":["/bytes"]},"body":"text","isBase64Encoded":false}`},
		{"a request of a load balancer without a route", lambdaapi.Invocation{Payload: `{"httpMethod":"GET","path":"/x","headers":{},"requestContext":{"elb":{"targetGroupArn":"arn"}}}`}, "response",
			`{"statusCode":404,"statusDescription":"404 Not Found","headers":{"content-type":"application/json"},"body":"{\"error\":{\"message\":\"no tenant is named for this event: ` +
				`it needs a route for arn\",\"retryable\":false,\"type\":\"Tenant.Unknown\"},\"request_id\":\"ID\"}","isBase64Encoded":false}`},
		{"a batch with bad messages", lambdaapi.Invocation{Payload: batchOf(sqs("orders", "1", "ok", "a"), sqs("orders", "2", "bad", "a"), sqs("orders", "3", "ok", "a"))}, "response",
			`{"batchItemFailures":[{"itemIdentifier":"2"}]}`},
		{"a good batch", lambdaapi.Invocation{Payload: batchOf(sqs("orders", "1", "ok", "a"))}, "response", `{"batchItemFailures":[]}`},
		{"groups of a FIFO queue", lambdaapi.Invocation{Payload: batchOf(sqs("orders.fifo", "1", "bad", "a"), sqs("orders.fifo", "2", "ok", "b"), sqs("orders.fifo", "3", "ok", "a"))}, "response",
			`{"batchItemFailures":[{"itemIdentifier":"1"},{"itemIdentifier":"3"}]}`},
		{"a batch of a mapping without the switch", lambdaapi.Invocation{Payload: batchOf(sqs("whole", "1", "ok", "a"), sqs("whole", "2", "bad", "a"))}, "error",
			`{"errorMessage":"one of 2 messages failed, so all of them come again: bad_order: 2","errorType":"Script.Raised","stackTrace":[{"path":"message.lua","line":2,"label":"function at message.lua:1"}]}`},
		{"a rule of EventBridge", lambdaapi.Invocation{Payload: `{"version":"0","id":"1","detail-type":"Scheduled Event","source":"aws.events",` +
			`"resources":["arn:aws:events:eu-west-1:123456789012:rule/nightly"],"detail":{}}`}, "response",
			`{"detail":{},"detail_type":"Scheduled Event","id":"1","kind":"eventbridge","resources":["arn:aws:events:eu-west-1:123456789012:rule/nightly"],"source":"aws.events"}`},
		{"the envelope of EventBridge Scheduler", lambdaapi.Invocation{Payload: envelope("who", "null")}, "response", `"acme"`},
		{"an object of S3", lambdaapi.Invocation{Payload: `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"in","arn":"arn:aws:s3:::in"},` +
			`"object":{"key":"a+b/%C3%A9%2B.csv","size":1}}}]}`}, "response", `null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			ours := test.Timeout > 0 // then the message tells times
			if !ours {
				test.Timeout = time.Minute
			}
			p := f.Send(test.Invocation)
			got := p.Await(t)
			got.Body = strings.ReplaceAll(got.Body, p.ID, "ID")
			same := got.Body == test.body
			if ours {
				same = strings.Contains(got.Body, `"errorMessage":"`+test.body) && strings.Contains(got.Body, `"errorType":"Script.Timeout"`)
			}
			if !same || got.Path != test.path || got.Status != http.StatusAccepted || len(got.Trailer) > 0 && got.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "" {
				t.Errorf("\n got %s %d %.500s %v\nwant %s %s", got.Path, got.Status, got.Body, got.Trailer, test.path, test.body)
			}
			if kind := got.Header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("got the type %s", kind)
			}
		})
	}
	t.Run("a deadline that is missing", func(t *testing.T) {
		got := f.Invoke(t, lambdaapi.Invocation{Header: map[string]string{"Lambda-Runtime-Deadline-Ms": ""}})
		if got.Path != "error" || !strings.Contains(got.Body, `"errorType":"Host.Internal"`) {
			t.Errorf("got %+v", got)
		}
		f.logged("the platform sent no deadline", 1) // and all before it are records
	})
}

func TestLambdaConcurrentInvocations(t *testing.T) {
	t.Parallel()
	const at, each = 8, 20
	f := startFunction(t, fmt.Sprintf("AWS_LAMBDA_MAX_CONCURRENCY=%d", at))
	var callers sync.WaitGroup
	for n := range at {
		callers.Go(func() {
			for i := range each {
				event := fmt.Sprintf(`{"caller":%d,"n":%d}`, n, i)
				response := <-f.Send(lambdaapi.Invocation{Payload: envelope("echo", event), Timeout: time.Minute}).Responded
				if response.Body != event {
					t.Errorf("got %s, want %s", response.Body, event)
				}
			}
		})
	}
	callers.Wait()
	// All are in flight before the first is answered, and SIGTERM ends them all.
	for range at {
		p := f.Send(lambdaapi.Invocation{Payload: envelope("sleep", `{"ms":600000}`), Timeout: 15 * time.Minute})
		lambdaapi.Await(t, "another poll while invocations are in flight", p.Taken)
	}
	f.logged(`"message":"sleeping"`, at)
	if err := f.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f.logged(`"errorType":"Host.Shutdown","errorMessage":"the host is shutting down","retryable":true`, at)
	if code := f.ended(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

func TestLambdaIdleEndsAtOnce(t *testing.T) {
	t.Parallel()
	f := startFunction(t)
	lambdaapi.Await(t, "an extension", f.Registered)
	if err := f.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := f.ended(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

func TestLambdaLogBeginsWithWarnings(t *testing.T) {
	t.Parallel()
	f := startFunction(t, "TIDELOCK_TASK__RUNNING=8")
	f.logged("TIDELOCK_TASK__RUNNING: task.running is deprecated: use task.max_concurrency", 1)
}

func TestLambdaInitErrorIsReported(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, config, env, want string }{
		{"an unknown key", "tenants: { acme: {} }\ncolour: red", "", "tidelock.yaml:2: colour: unknown key"},
		{"no tenants", "db: { table: t }", "", "tenants: there is none"},
		{"a folder that is not there", "tenants: { acme: { scripts: missing } }", "", "tenants.acme: "},
		{"an embedded file", "tenants: { acme: {} }", "TIDELOCK_DB__FILE=/tmp/x.db", "TIDELOCK_DB__FILE: db.file: each environment of the function would have a file of its own"},
		{"an engine that it has not", "tenants: { acme: {} }\ndb: { file: x.db }\nlambda: { embedded_db: true }", "", "tidelock.yaml:2: db.file: this program was built without"},
		{"a route to an unknown tenant", "tenants: { acme: {} }\nlambda: { routes: [ { match: x, tenant: beta } ] }", "", `tidelock.yaml:2: lambda.routes.0.tenant: there is no tenant \"beta\"`},
		{"a collector that is no URL", "tenants: { acme: {} }\ntrace: { endpoint: x }", "", "tidelock.yaml:2: trace.endpoint: want a URL"},
		{"a secret in its place", "tenants: { acme: {} }\nsql: { a: { driver: postgres, password: hunter2 } }", "", `tidelock.yaml:2: sql.a.password: got something else`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "tidelock.yaml", test.config)
			f := startFunctionIn(t, dir, test.env)
			got := lambdaapi.Await(t, "a failed start", f.InitErrors)
			prefix, suffix := `{"errorMessage":"`, `","errorType":"Host.ConfigInvalid","stackTrace":[]}`
			if !strings.HasPrefix(got.Body, prefix) || !strings.HasSuffix(got.Body, suffix) || !strings.Contains(got.Body, test.want) {
				t.Errorf("got %s, want %q", got.Body, test.want)
			}
			if kind := got.Header.Get("Lambda-Runtime-Function-Error-Type"); kind != "Host.ConfigInvalid" {
				t.Errorf("got the type %q in the header", kind)
			}
			f.logged(`"errorType":"Host.ConfigInvalid"`, 1)
			if code := f.ended(); code != 1 {
				t.Errorf("got exit code %d, want 1", code)
			}
			select {
			case <-f.Ready:
				t.Error("it asked for an invocation")
			default:
			}
		})
	}
}

// A function's lock must be free when its process has ended: no process is left to
// release it. The platform grants half a second for that, which a busy machine
// may exceed, so that one of three times is enough.
func testLambdaTerminated(t *testing.T, tb *table) {
	for n := 1; ; n++ {
		f := startFunction(t, tb.functionEnv(tb.endpoint)...)
		p := f.Send(lambdaapi.Invocation{Payload: envelope("hold", "null"), Timeout: time.Minute})
		lambdaapi.Await(t, "an invocation", p.Taken)
		f.logged(`"message":"holding"`, 1)
		if rows := tb.lockRows("acme"); rows != 1 {
			t.Fatalf("%d rows of locks while one is held", rows)
		}
		began := time.Now()
		if err := f.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		code := f.ended()
		rows := tb.lockRows("acme")
		t.Logf("ended %v after SIGTERM with %d rows of locks", time.Since(began), rows)
		if code == 0 && rows == 0 {
			return
		}
		if n == 3 {
			t.Fatalf("got exit code %d and %d rows of locks, want 0 and none", code, rows)
		}
	}
}

// A process that was frozen uses no connection from before: the other side has
// forgotten it.
func testLambdaThawed(t *testing.T, tb *table) {
	target, err := url.Parse(tb.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	proxy := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	proxy.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	proxy.Start()
	defer proxy.Close()
	f := startFunction(t, tb.functionEnv(proxy.URL)...)
	put := func() int32 {
		t.Helper()
		if got := f.Invoke(t, lambdaapi.Invocation{Payload: envelope("put", "null"), Timeout: time.Minute}); got.Body != "true" {
			t.Fatalf("got %s", got.Body)
		}
		return connections.Load()
	}
	first := put()
	if again := put(); again != first {
		t.Errorf("%d connections, then %d: want the same", first, again)
	}
	if err := f.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(6 * time.Second) // of the pause that a function takes for a freeze; nothing else can tell it
	if err := f.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if thawed := put(); thawed <= first {
		t.Errorf("%d connections after the pause as before", thawed)
	}
	f.logged("idle connections are dropped after a pause", 1)
}

// Spans are sent before the response: the environment may be frozen, or thrown
// away, after it.
func TestLambdaSendsSpansBeforeTheResponse(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent <- string(body)
		_, _ = io.WriteString(w, "{}")
	}))
	defer collector.Close()
	f := startFunction(t, "TIDELOCK_TRACE__ENDPOINT="+collector.URL)
	for n := range 3 {
		response := f.Send(lambdaapi.Invocation{Payload: envelope("local", fmt.Sprint(n)), Timeout: time.Minute}).AwaitResponse(t)
		if response.Body != fmt.Sprint(n) {
			t.Fatalf("got %s", response.Body)
		}
		all := ""
		for len(sent) > 0 {
			all += <-sent
		}
		for _, want := range []string{
			`"name":"run"`, `"name":"native.lock.with"`, `"name":"lock wait"`, `"name":"lock hold"`,
			`"traceId":"5bef4de7ad49b0e87f6ef6c87fc2e700"`, `"parentSpanId":"9a9197af755a6419"`,
		} {
			if !strings.Contains(all, want) {
				t.Errorf("no %s in what was sent before response %d: %s", want, n, all)
			}
		}
	}
}

// A collector that doesn't answer delays responses by a bounded time.
func TestLambdaAnswersWithoutACollector(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-over }))
	defer collector.Close()
	defer close(over)
	f := startFunction(t, "TIDELOCK_TRACE__ENDPOINT="+collector.URL)
	for n := range 3 {
		if got := f.Invoke(t, lambdaapi.Invocation{Payload: envelope("echo", fmt.Sprint(n)), Timeout: time.Minute}); got.Body != fmt.Sprint(n) {
			t.Errorf("got %s", got.Body)
		}
	}
	f.logged("not all spans were sent", 1)
}

// functionEnv are the variables with which a function uses the table.
func (tb *table) functionEnv(endpoint string) []string {
	return []string{
		"TIDELOCK_DB__TABLE=" + tb.name, "TIDELOCK_DB__REGION=" + region, "TIDELOCK_DB__ENDPOINT=" + endpoint,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
	}
}

// lockRows is how many locks of a tenant have a row.
func (tb *table) lockRows(id tenant.ID) int {
	tb.t.Helper()
	s, err := dynamo.Open(tb.t.Context(), clock.NewDual(clock.System()), dynamo.Options{
		Table: tb.name, Region: region, Endpoint: tb.endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	defer s.Close()
	page := s.ListLocks(tb.t.Context(), id, "")
	if page.Err != nil {
		tb.t.Fatal(page.Err)
	}
	return len(page.Rows)
}

// A platform that answers with anything else than it has to ends the process.
func TestLambdaEndsWhenThePlatformDoes(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/register"):
			w.Header().Set("Lambda-Extension-Identifier", "1")
		case strings.HasSuffix(r.URL.Path, "/event/next"):
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer s.Close()
	f := startFunction(t, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(s.URL, "http://"))
	f.logged("the platform answered 403 Forbidden", 1)
	if code := f.ended(); code != 1 {
		t.Errorf("got exit code %d, want 1", code)
	}
}
