package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/tidelock-lua/tidelock/lambda"
)

// Some senders write null where others write nothing.
func TestEventNullFieldsCountAsMissing(t *testing.T) {
	null := func(event, field string) string { return strings.Replace(event, "{", `{"`+field+`":null,`, 1) }
	context := func(event, field string) string {
		return strings.Replace(event, `"requestContext":{`, `"requestContext":{"`+field+`":null,`, 1)
	}
	for _, test := range []struct{ name, event string }{
		{"no several values", null(strings.Replace(restEvent, `"multiValueHeaders":{"Cookie":["s=1; t=2"],"X-One":["1"],"X-Two":["1","2"]},`, "", 1), "multiValueHeaders")},
		{"no load balancer", context(strings.Replace(restEvent, `"multiValueHeaders":{"Cookie":["s=1; t=2"],"X-One":["1"],"X-Two":["1","2"]},`, "", 1), "elb")},
		{"no call", context(strings.Replace(restEvent, `"multiValueHeaders":{"Cookie":["s=1; t=2"],"X-One":["1"],"X-Two":["1","2"]},`, "", 1), "http")},
		{"no other query", null(strings.Replace(restEvent, `"multiValueHeaders":{"Cookie":["s=1; t=2"],"X-One":["1"],"X-Two":["1","2"]},`, "", 1), "x")},
	} {
		inFakeTime(t, returning(`{ body = event.headers["x-one"] }`), func(t *testing.T, f *function) {
			f.want(test.event, call{}, `{"statusCode":200,"headers":{"content-type":"text/plain; charset=utf-8"},"body":"1","isBase64Encoded":false}`, "")
		})
	}
	inFakeTime(t, all("echo"), func(t *testing.T, f *function) {
		for _, test := range []struct{ event, response string }{
			{`{"tenant":null,"script":"echo","event":1}`, "1"},
			{`{"tenant":"acme","script":null,"event":1}`, "1"},
			{`{"tenant":null,"script":null,"event":1}`, `{"event":1,"script":null,"tenant":null}`},
			{`{"version":"2.0","requestContext":{"http":null}}`, `{"requestContext":{"http":null},"version":"2.0"}`},
			{`{"Records":null}`, `{"Records":null}`},
			{`{"Records":[null]}`, `{"Records":[null]}`},
			{`{"httpMethod":"GET","requestContext":null}`, `{"httpMethod":"GET","requestContext":null}`},
		} {
			f.want(test.event, call{}, test.response, "")
		}
	})
}

// A header in two cases is one header, and not one of the two by chance.
func TestRequestHeaderInTwoCasesIsOneHeader(t *testing.T) {
	event := strings.Replace(gatewayEvent, `"x-many":"1,2"`, `"x-many":"b","X-Many":"a","COOKIE":"q=1"`, 1)
	inFakeTime(t, returning(`{ body = event.headers["x-many"] }`), func(t *testing.T, f *function) {
		for range 20 {
			if got, failed := f.invoke(event, call{}); failed != "" || body(t, got) != "a, b" {
				t.Fatalf("got %s%s, want a, b", got, failed)
			}
		}
	})
}

// Any client may choose the path. Matching a long one costs no more than reading
// it.
func TestRouteOfALongPathCostsLittle(t *testing.T) {
	path := "/a" + strings.Repeat("/", 16<<10)
	event := strings.Replace(gatewayEvent, `"rawPath":"/orders/7"`, `"rawPath":"`+path+`"`, 1)
	routes := func(c *lambda.Config) {
		routed(lambda.Route{Match: "/a/*", Tenant: "acme", Script: "nothing"})(c)
	}
	inFakeTime(t, routes, func(t *testing.T, f *function) {
		f.want(event, call{}, `{"statusCode":204,"body":"","isBase64Encoded":false}`, "")
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		f.invoke(event, call{})
		goruntime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
			t.Errorf("an invocation allocated %d MiB", got>>20)
		}
	})
	inFakeTime(t, nil, func(t *testing.T, f *function) {
		c := f.Config
		c.Routes = []lambda.Route{{Match: strings.Repeat("x", 1025), Tenant: "acme"}}
		if _, err := lambda.New(c); err == nil || len(err.Error()) > 200 {
			t.Errorf("got %v, want a short error", err)
		}
	})
}

// A message that a batch has twice is run once: two runs of it would be at work
// at once.
func TestBatchDuplicateMessageRunsOnce(t *testing.T) {
	ok, bad := work(10, false), work(10, true)
	twice := `{"Records":[` + strings.Join([]string{message("1", bad, ""), message("2", ok, ""), message("1", bad, "")}, ",") + `]}`
	inFakeTime(t, partial, func(t *testing.T, f *function) {
		f.want(twice, call{}, `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, "")
		if got := f.begun.Load(); got != 2 {
			t.Errorf("%d runs began, want 2", got)
		}
	})
	others := strings.Replace(twice, queueARN, fifoARN, 1) // the same id in another queue is another message
	inFakeTime(t, partial, func(t *testing.T, f *function) {
		f.want(others, call{}, `{"batchItemFailures":[{"itemIdentifier":"1"},{"itemIdentifier":"1"}]}`, "")
		if got := f.begun.Load(); got != 3 {
			t.Errorf("%d runs began, want 3", got)
		}
	})
}

func TestInvokeErrorIsShortText(t *testing.T) {
	name := strings.Repeat("n", 100_000)
	long := "local function " + name + `() error(string.rep("m\n", 1000000)) end ` + name + "() return 1"
	for _, source := range []string{
		`(function() error("\255\0\27") end)()`, `(function() error({ code = "\255", message = "\254" }) end)()`,
		`(function() error(string.rep("x", 3000000)) end)()`, `(function() ` + long + ` end)()`,
	} {
		inFakeTime(t, returning(source), func(t *testing.T, f *function) {
			got, _ := f.invoke(gatewayEvent, call{})
			if text := body(t, got); !strings.HasPrefix(text, `{"error":{`) || !strings.Contains(text, `"type":"Script.R`) || len(text) > 64<<10 {
				t.Errorf("%.80s: got %.300s", source, text)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := f.Invoke(ctx, nil)
			var e messages.InvokeResponse_Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			size := len(e.Message)
			for _, frame := range e.StackTrace {
				size += len(frame.Path) + len(frame.Label)
			}
			if size > 32<<10 {
				t.Errorf("%.80s: the error has %d bytes, which leave in a header too", source, size)
			}
		})
	}
}

// The process of several invocations ends when one of them is stuck, but not
// before the others have their responses.
func TestInvokeAbandonedRunEndsNoOtherInvocation(t *testing.T) {
	configure := routed(lambda.Route{Match: "*", Tenant: "acme"})
	inFakeTime(t, configure, func(t *testing.T, f *function) {
		defer close(f.stuck)
		invoke := func(script string, timeout time.Duration) error {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			_, err := f.Invoke(ctx, []byte(`{"script":"`+script+`"}`))
			return err
		}
		other := make(chan error)
		go func() { other <- invoke("spin", 10*time.Second) }()
		var e messages.InvokeResponse_Error
		if err := invoke("stuck", 3*time.Second); !errors.As(err, &e) || e.Type != "Script.Timeout" || e.ShouldExit {
			t.Errorf("got %#v, want a timeout that ends nothing else", err)
		}
		if err := <-other; !errors.As(err, &e) || !e.ShouldExit {
			t.Errorf("got %#v, want an error after which the process ends", err)
		}
	})
}

// Collectors split lines of 16 KiB, and what they split is no JSON any more.
func TestLogRecordOfAFailedRunIsBounded(t *testing.T) {
	name := strings.Repeat("n", 100_000)
	source := "(function() local function " + name + "(n) if n > 0 then local x = " + name + `(n - 1) return x end error(string.rep("\1", 100000), 0) end local x = ` + name + "(100) return x end)()"
	inFakeTime(t, returning(source), func(t *testing.T, f *function) {
		f.want("", call{}, "", "Script.RuntimeError: ")
		records := f.log.FilterMessage("run failed").All()
		if len(records) != 1 {
			t.Fatalf("%d records", len(records))
		}
		for _, record := range records {
			text, err := json.Marshal(record.ContextMap())
			if err != nil || len(text) > 15<<10 || !strings.Contains(string(text), `"truncated":true`) {
				t.Errorf("a record of %d bytes (%v): %.300s", len(text), err, text)
			}
		}
	})
}
