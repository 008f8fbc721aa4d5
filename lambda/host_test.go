package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/lambda"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInvokeErrorHasTypeAndLuaStack(t *testing.T) {
	inFakeTime(t, all("raise"), func(t *testing.T, f *function) {
		_, err := f.Invoke(t.Context(), nil)
		got, _ := json.Marshal(err)
		want := `{"errorMessage":"raise.lua:2: no such order","errorType":"Script.RuntimeError","stackTrace":[` +
			`{"path":"raise.lua","line":2,"label":"inner"},{"path":"raise.lua","line":3,"label":"outer"},{"path":"raise.lua","line":4,"label":"main chunk"}]}`
		if string(got) != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	})
}

func TestInvokeBoundsTheResult(t *testing.T) {
	for script, want := range map[string]string{
		`string.rep("x", 6 * 1024 * 1024 - 2)`: "",
		`string.rep("x", 6 * 1024 * 1024 - 1)`: "Result.TooLarge: ",
		`{ items = { { name = "\255" } } }`:    "Result.NotSerializable: result.items[1].name: a string that is not UTF-8",
	} {
		inFakeTime(t, returning(script), func(t *testing.T, f *function) {
			if _, failed := f.invoke("", call{}); !strings.HasPrefix(failed, want) || want == "" && failed != "" {
				t.Errorf("%s: got %q, want %q", script, failed, want)
			}
		})
	}
	inFakeTime(t, routed(lambda.Route{Match: "*", Tenant: "beta", Script: "echo"}), func(t *testing.T, f *function) {
		f.want(`"`+strings.Repeat("x", 99)+`"`, call{}, "", "Result.TooLarge: ") // its own limit is less
	})
}

func TestInvokePanicEndsOneRunOnly(t *testing.T) {
	inFakeTime(t, all("panic"), func(t *testing.T, f *function) {
		f.want("", call{}, "", "Script.RuntimeError: panic.lua:1: internal error")
		f.want("", call{}, "", "Script.RuntimeError: panic.lua:1: internal error")
	})
	panics := func(context.Context) { panic("the secret of the host") }
	inFakeTime(t, func(c *lambda.Config) { all("nothing")(c); c.Flush = panics }, func(t *testing.T, f *function) {
		f.want("", call{}, "", "Host.Internal: internal error")
		if f.log.FilterMessage("the host panicked").Len() != 1 {
			t.Errorf("the log says nothing of it: %v", f.log.All())
		}
	})
}

func TestLogHasOneRecordForAFailedRun(t *testing.T) {
	inFakeTime(t, all("raise"), func(t *testing.T, f *function) {
		f.want(`"the secret of an event"`, call{}, "", "Script.RuntimeError: ")
		failed := f.log.FilterMessage("run failed").All()
		if len(failed) != 1 {
			t.Fatalf("got %v", f.log.All())
		}
		fields := failed[0].ContextMap()
		for name, want := range map[string]any{
			"requestId": "request-1", "tenantId": "acme", "script": "raise.lua", "errorType": "Script.RuntimeError",
			"errorMessage": "raise.lua:2: no such order", "retryable": false,
		} {
			if fields[name] != want {
				t.Errorf("%s: got %v, want %v", name, fields[name], want)
			}
		}
		if all := fmt.Sprint(f.log.All()); strings.Contains(all, "secret") {
			t.Errorf("the event is in the log: %s", all)
		}
	})
	inFakeTime(t, all("say"), func(t *testing.T, f *function) {
		f.want("", call{}, "null", "")
		said := f.log.FilterMessage("hello").All()
		if len(said) != 1 || said[0].ContextMap()["requestId"] != "request-1" || said[0].ContextMap()["runId"] == "" {
			t.Errorf("got %v, want hello with the request's id", said)
		}
	})
}

func TestInvokeConcurrently(t *testing.T) {
	const at, each = 8, 100
	f := newFunction(t, all("echo"), nil)
	var callers sync.WaitGroup
	for n := range at {
		callers.Go(func() {
			for i := range each {
				want := fmt.Sprintf(`{"caller":%d,"n":%d}`, n, i)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				got, err := f.Invoke(ctx, []byte(want))
				cancel()
				if err != nil || string(got) != want {
					t.Errorf("got %s, %v; want %s", got, err, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestNewRefusesInvalidConfig(t *testing.T) {
	for want, configure := range map[string]func(*lambda.Config){
		"are required":                 func(c *lambda.Config) { c.Engine = nil },
		"margin: got -1s":              func(c *lambda.Config) { c.Margin = -time.Second },
		"concurrency: got -1":          func(c *lambda.Config) { c.Concurrency = -1 },
		"thaw after: got -1s":          func(c *lambda.Config) { c.ThawAfter = -time.Second },
		"a route matches nothing":      routed(lambda.Route{Tenant: "acme"}),
		`route "x": it has neither`:    routed(lambda.Route{Match: "x"}),
		`route "x": there is no tenan`: routed(lambda.Route{Match: "x", Tenant: "gamma"}),
		`route "x": there are two`:     routed(lambda.Route{Match: "x", Tenant: "acme"}, lambda.Route{Match: "x", Tenant: "beta"}),
	} {
		good := newFunction(t, nil, nil)
		c := good.Config
		configure(&c)
		if _, err := lambda.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func BenchmarkInvoke(b *testing.B) {
	f := newFunction(&testing.T{}, all("nothing"), nil)
	inv, failed := f.Tenants.Resolve("acme", "nothing", nil)
	if failed != nil {
		b.Fatal(failed)
	}
	inv.Log = f.RunLog(f.Log, inv)
	b.Run("the engine alone", func(b *testing.B) {
		for b.Loop() {
			f.Engine.Run(b.Context(), *inv)
		}
	})
	b.Run("an invocation", func(b *testing.B) {
		for b.Loop() {
			ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
			if _, err := f.Invoke(ctx, nil); err != nil {
				b.Fatal(err)
			}
			cancel()
		}
	})
}
