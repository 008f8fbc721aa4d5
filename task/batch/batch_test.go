package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
)

// batchLine is a line of a batch's output.
type batchLine struct {
	ID         any
	Line       int
	OK         bool
	Value      any
	RunID      string `json:"run_id"`
	NotStarted bool   `json:"not_started"`
	Error      *struct {
		Type, Message string
		Retryable     bool
	}
}

// kind is the type of the line's error, "" for none.
func (l batchLine) kind() string {
	if l.Error == nil {
		return ""
	}
	return l.Error.Type
}

func parseBatch(t *testing.T, text string) (lines []batchLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l batchLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestRunWritesOneResultForEachLine(t *testing.T) {
	const in = `{"id":"a","tenant":"acme","script":"job","event":{"x":[]}}
{"id":7,"tenant":"acme","script":"job"}

no JSON
{"id":[1],"tenant":"nobody","script":"job"}
{"tenant":"acme","script":"none"}
{"id":1,"tenant":"acme","script":"job"} {}
{"id":1,"tenant":"acme","script":"job","evnt":{}}
{"id":2,"tenant":"acme","script":"job","event":{"as":"Script.Timeout"}}
`
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		sum, err := Run(t.Context(), Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme"), Ordered: true}, strings.NewReader(in+"\xff\n"+strings.Repeat("x", lineMax+1)+"\n"+`{"id":"last","tenant":"acme","script":"job"}`), &out)
		if err != nil || sum.OK != 3 || sum.Failed != 8 {
			t.Errorf("got %+v, %v, want 3 ok and 8 failed", sum, err)
		}
		var got []string
		for _, l := range parseBatch(t, out.String()) {
			got = append(got, fmt.Sprintf("%d %v %v %s", l.Line, l.ID, l.OK, l.kind()))
			if l.OK != (l.RunID != "" && l.kind() == "") {
				t.Errorf("got %+v", l)
			}
		}
		want := []string{
			"1 a true ", "2 7 true ", "4 <nil> false Event.Invalid", "5 [1] false Tenant.Unknown", "6 <nil> false Script.NotFound",
			"7 1 false Event.Invalid", "8 1 false Event.Invalid", "9 2 false Script.Timeout", "10 <nil> false Event.Invalid",
			"11 <nil> false Event.TooLarge", "12 last true ",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		if !strings.Contains(out.String(), "line 4: ") {
			t.Errorf("got %s, want the number of the bad line in its error", out.String())
		}
	})
}

func TestRunWritesResultsAsTheyFinishOrInOrder(t *testing.T) {
	var in strings.Builder
	for i, ms := range []int{300, 100, 200, 50} {
		fmt.Fprintf(&in, `{"id":%d,"tenant":"acme","script":"job","event":{"ms":%d}}`+"\n", i, ms)
	}
	for ordered, want := range map[bool][]any{true: {0.0, 1.0, 2.0, 3.0}, false: {3.0, 1.0, 2.0, 0.0}} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			from := time.Now()
			sum, err := Run(t.Context(), Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme"), Concurrency: 4, Ordered: ordered}, strings.NewReader(in.String()), &out)
			var got []any
			for _, l := range parseBatch(t, out.String()) {
				got = append(got, l.ID)
			}
			if err != nil || sum.OK != 4 || !slices.Equal(got, want) || time.Since(from) != 300*time.Millisecond {
				t.Errorf("ordered %v: got %v after %v, %v", ordered, got, time.Since(from), err)
			}
		})
	}
}

func TestRunHasNoMoreScriptsAtOnceThanItsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		engine := runnertest.Engine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			return runnertest.Work(time.Second)(ctx, inv)
		})
		in := strings.Repeat(`{"tenant":"acme","script":"job"}`+"\n", 50)
		from := time.Now()
		sum, err := Run(t.Context(), Config{Engine: engine, Tenants: runnertest.Tenants("acme"), Concurrency: 5}, strings.NewReader(in), io.Discard)
		if err != nil || sum.OK != 50 || most.Load() != 5 || time.Since(from) != 10*time.Second {
			t.Errorf("got %+v, %d at once, %v, %v", sum, most.Load(), time.Since(from), err)
		}
	})
}

// endless are lines without end, with a number as their id.
func endless(ms int) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, `{"id":%d,"tenant":"acme","script":"job","event":{"ms":%d}}`+"\n", i, ms); err != nil {
				return
			}
		}
	}()
	return r
}

func TestRunThatIsStoppedReadsNoMoreAndFinishesWhatRuns(t *testing.T) {
	for _, test := range []struct {
		name      string
		ms        int
		forceStop bool
		took      time.Duration
		ok        int
		failed    int // cancelled ones; not started ones besides
	}{
		{"short runs", 2000, false, 2 * time.Second, 4, 0},
		{"long runs", 60_000, false, time.Second + 25*time.Second, 0, 4},
		{"a second signal", 10_000, true, 2 * time.Second, 0, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tenants := runnertest.Tenants("acme")
				a := tenants["acme"]
				a.Limits.Timeout = time.Hour
				tenants["acme"] = a
				ctx, stop := context.WithCancel(t.Context())
				forceStop := make(chan struct{})
				time.AfterFunc(time.Second, stop)
				if test.forceStop {
					time.AfterFunc(2*time.Second, func() { close(forceStop) })
				}
				var out strings.Builder
				in := endless(test.ms)
				defer in.Close()
				from := time.Now()
				_, err := Run(ctx, Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: tenants, Concurrency: 4, ForceStop: forceStop}, in, &out)
				if took := time.Since(from); err != nil || took != test.took {
					t.Errorf("took %v, %v, want %v", took, err, test.took)
				}
				var ids []float64
				counts := map[string]int{}
				for _, l := range parseBatch(t, out.String()) {
					ids = append(ids, l.ID.(float64))
					switch {
					case l.OK:
						counts["ok"]++
					case l.NotStarted && l.kind() == "Host.Shutdown" && l.Error.Retryable:
						counts["not started"]++
					case l.kind() == "Host.Shutdown":
						counts["cancelled"]++
					}
				}
				slices.Sort(ids)
				for i, id := range ids { // all that was taken, once each
					if int(id) != i {
						t.Fatalf("got %v, want each line once", ids)
					}
				}
				if counts["ok"] != test.ok || counts["cancelled"] != test.failed || counts["not started"] == 0 || len(ids) != test.ok+test.failed+counts["not started"] {
					t.Errorf("got %v of %d lines", counts, len(ids))
				}
			})
		})
	}
}

func TestRunEndsAlthoughAScriptDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		var out strings.Builder
		from := time.Now()
		_, err := Run(ctx, Config{Engine: runnertest.Stuck(release), Tenants: runnertest.Tenants("acme"), StopTimeout: 10 * time.Second}, strings.NewReader(`{"tenant":"acme","script":"job"}`), &out)
		if lines := parseBatch(t, out.String()); err != nil || len(lines) != 1 || lines[0].kind() != "Host.Shutdown" || time.Since(from) != 10*time.Second {
			t.Errorf("got %s after %v, %v, want Host.Shutdown after 10s", out.String(), time.Since(from), err)
		}
	})
}

// brokenPipe fails after some writes.
type brokenPipe struct{ left int }

var errBroken = errors.New("broken pipe")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestRunEndsWhenItsOutputFails(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			in := endless(1000)
			defer in.Close()
			sum, err := Run(t.Context(), Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme"), Ordered: ordered, Concurrency: 4}, in, &brokenPipe{10})
			if !errors.Is(err, errBroken) || sum.OK != 10 {
				t.Errorf("got %+v, %v, want %v after 10", sum, err, errBroken)
			}
		})
	}
}

func TestRunFinishesWhatItHasReadWhenItsInputFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := io.MultiReader(strings.NewReader(`{"tenant":"acme","script":"job"}`+"\n"), &failingReader{})
		sum, err := Run(t.Context(), Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme")}, in, io.Discard)
		if !errors.Is(err, errBroken) || sum.OK != 1 {
			t.Errorf("got %+v, %v, want one answer and %v", sum, err, errBroken)
		}
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBroken }

func TestProgressIsCalledAfterEachResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards last
		var last Summary
		in := strings.Repeat(`{"tenant":"acme","script":"job"}`+"\n", 20)
		Run(t.Context(), Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme"), Progress: func(s Summary) {
			mu.Lock()
			defer mu.Unlock()
			if s.OK != last.OK+1 {
				t.Errorf("got %+v after %+v", s, last)
			}
			last = s
		}}, strings.NewReader(in), io.Discard)
		synctest.Wait()
		if last.OK != 20 || last.Bytes != int64(len(in)) {
			t.Errorf("got %+v, want 20 and %d bytes", last, len(in))
		}
	})
}

func TestRunWaitsForASlowReaderOfItsResults(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var runs atomic.Int32
			in := strings.Repeat(`{"tenant":"a","script":"job"}`+"\n", 1000)
			r, w := io.Pipe()
			done := make(chan Summary)
			go func() {
				sum, _ := Run(t.Context(), Config{Engine: runnertest.Engine(func(context.Context, runtime.Invocation) *runtime.Result {
					runs.Add(1)
					return runnertest.Return("1")
				}), Tenants: runnertest.Tenants("a"), Concurrency: 4, Ordered: ordered}, strings.NewReader(in), w)
				w.Close()
				done <- sum
			}()
			synctest.Wait()
			if n := runs.Load(); n > 60 {
				t.Errorf("ordered %v: %d lines were run for a reader who takes none, want about 40", ordered, n)
			}
			text, _ := io.ReadAll(r)
			if sum := <-done; sum.OK != 1000 || strings.Count(string(text), "\n") != 1000 {
				t.Errorf("ordered %v: got %+v, %d lines", ordered, sum, strings.Count(string(text), "\n"))
			}
		})
	}
}

func TestRunAcceptsAnyEndOfLine(t *testing.T) {
	const one = `{"id":1,"tenant":"a","script":"job"}`
	for name, in := range map[string]string{
		"CRLF": one + "\r\n" + one + "\r\n", "no end": one + "\n" + one, "empty lines": "\n\r\n" + one + "\n \t\n" + one + "\n\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			sum, err := Run(t.Context(), Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a")}, strings.NewReader(in), io.Discard)
			if err != nil || sum.OK != 2 || sum.Failed != 0 {
				t.Errorf("%s: got %+v, %v, want 2", name, sum, err)
			}
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bad line keeps its id, and its error speaks of the line and not of the
// program that reads it.
func TestRunTellsWhatIsWrongWithALine(t *testing.T) {
	for line, want := range map[string]string{
		`{"id": 7, "tenant": 5, "script": "x"}`:                         `7 line 1: tenant: want a text in quotes`,
		`{"id": "a", "tenant": "a", "script": ["x"]}`:                   `"a" line 1: script: want a text in quotes`,
		`{"id": 7, "tenant": "a", "skript": "x"}`:                       `7 line 1: unknown field "skript", did you mean "script"?`,
		`{"id": 7, "tenant": "a", "script": "x", "timeout": 5}`:         `7 line 1: unknown field "timeout", known are id, tenant, script, event`,
		`{"id": 7, "tenant": "a"}`:                                      `7 line 1: the field "script" is missing`,
		`{"id": 7, "script": "x"}`:                                      `7 line 1: the field "tenant" is missing`,
		`{"id": 7, "tenant": null, "script": "x"}`:                      `7 line 1: tenant: want a text in quotes`,
		`{"id": 7, "tenant": "a", "tenant": "b", "script": "x"}`:        `7 line 1: the field "tenant" comes twice`,
		`{"id": {"n": [1]}, "tenant": "a", "script": x}`:                `{"n":[1]} line 1: no valid JSON from byte `,
		`{"id": 7, "tenant": "a", "script": "x", "event": {"a": 1}`:     `7 line 1: the JSON is cut off`,
		`{"id": 7, "tenant": "a", "script": "x", "event": {"a": 1}} {}`: `7 line 1: want one JSON object a line`,
		`[1]`: `null line 1: want one JSON object a line`,
		`job`: `null line 1: no valid JSON from byte `,
		`{`:   `null line 1: the JSON is cut off`,
	} {
		var out bytes.Buffer
		c := Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a")}
		if _, err := Run(t.Context(), c, strings.NewReader(line+"\n"), &out); err != nil {
			t.Fatal(err)
		}
		var got struct {
			ID    json.RawMessage
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		text := string(got.ID) + " " + got.Error.Message
		if !strings.HasPrefix(text, want) || got.Error.Type != "Event.Invalid" {
			t.Errorf("%s: got %s, want %s", line, text, want)
		}
		for _, foreign := range []string{"json:", "Go ", "struct", "invalid character", "EOF", "token"} {
			if strings.Contains(got.Error.Message, foreign) {
				t.Errorf("%s: the message %q speaks of the program", line, got.Error.Message)
			}
		}
	}
}
