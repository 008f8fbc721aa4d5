package lambda_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const loadBalancerMax = 1 << 20

// A load balancer makes status 502 of a response over its limit, which is less
// than the platform's: the JSON with all headers counts, and a body as base64.
func TestResponseIsBoundedByWhatItsSenderTakes(t *testing.T) {
	const large = `{"error":{"message":"the answer has more bytes, as JSON with its headers, than the 1048576 that a load balancer takes","retryable":false,"type":"Result.TooLarge"},"request_id":"request-1"}`
	balancerMulti := strings.Replace(balancerEvent, `"headers":{"host":"h"}`, `"multiValueHeaders":{"host":["h"]}`, 1)
	empty := len(`{"statusCode":200,"statusDescription":"200 OK","headers":{"content-type":"text/plain; charset=utf-8"},"body":"","isBase64Encoded":false}`)
	for _, test := range []struct {
		name, event, script string
		fits                bool
	}{
		{"all that fits", balancerEvent, fmt.Sprintf(`{ body = string.rep("x", %d) }`, loadBalancerMax-empty), true},
		{"a byte more", balancerEvent, fmt.Sprintf(`{ body = string.rep("x", %d) }`, loadBalancerMax-empty+1), false},
		{"a table", balancerEvent, `{ body = { string.rep("x", 1024 * 1024) } }`, false},
		{"headers", balancerEvent, `{ headers = { a = string.rep("x", 600000), b = string.rep("x", 600000) } }`, false},
		{"headers with several values", balancerMulti, `{ headers = { a = { string.rep("x", 600000), string.rep("x", 600000) } } }`, false},
		{"cookies", balancerMulti, `{ cookies = { "a=" .. string.rep("x", 600000), "b=" .. string.rep("x", 600000) } }`, false},
		{"a body that grows as base64", balancerEvent, `{ body = string.rep("\255", 800000) }`, false},
		{"a body that grows by escapes", balancerEvent, `{ body = string.rep("\n", 600000) }`, false},
		{"a page of many tags", balancerEvent, `{ body = string.rep("<", 1000000) }`, true},
		{"bytes that fit as base64", balancerEvent, `{ body = string.rep("\255", 780000) }`, true},
		{"an HTTP API", gatewayEvent, `{ body = string.rep("x", 6000000) }`, true},
		{"a REST API", restEvent, `{ body = string.rep("x", 6000000) }`, true},
		{"an error's code", balancerEvent, `error({ code = string.rep("x", 2000000), message = "m" })`, true},
		{"the name of a field", balancerEvent, `{ [string.rep("x", 2000000)] = 1 }`, true},
		{"the name of a header", balancerEvent, `{ headers = { [string.rep("x", 2000000) .. " "] = 1 } }`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, returning(test.script), func(t *testing.T, f *function) {
				got, failed := f.invoke(test.event, call{timeout: time.Minute})
				if failed != "" || test.fits == (body(t, got) == large) || !test.fits && !strings.HasPrefix(got, `{"statusCode":413,`) {
					t.Errorf("got %.300s%s", got, failed)
				}
				if strings.Contains(test.event, "elb") && len(got) > loadBalancerMax {
					t.Errorf("got %d bytes", len(got))
				}
			})
		})
	}
}

// A deadline is any number of the platform's: none makes a run of another length
// than the tenant's, or starts one that has no time.
func TestTimeBudgetOfAnyDeadline(t *testing.T) {
	forever := time.Duration(1<<63 - 1)
	inFakeTime(t, all("left"), func(t *testing.T, f *function) {
		time.Sleep(time.Second) // the process has run for some time
		for _, timeout := range []time.Duration{time.Hour, 200 * 365 * 24 * time.Hour, forever} {
			if got, failed := f.invoke("", call{timeout: timeout}); !strings.HasPrefix(got, "3000") && !strings.HasPrefix(got, "2999") {
				t.Errorf("%v: the script has %s ms%s, want 30 s", timeout, got, failed)
			}
		}
		for _, deadline := range []int64{99_999_999_999_999, 1<<63 - 1} { // the former is in the year 5138
			if got, failed := f.invokeAt(time.UnixMilli(deadline)); !strings.HasPrefix(got, "3000") && !strings.HasPrefix(got, "2999") {
				t.Errorf("%d: the script has %s ms%s, want 30 s", deadline, got, failed)
			}
		}
		for _, deadline := range []int64{-1 << 63, -1, 0, 1} {
			want := "Script.Timeout: the run took longer than the 0s that the function's timeout left it: of 0s at the start"
			if _, failed := f.invokeAt(time.UnixMilli(deadline)); !strings.HasPrefix(failed, want) {
				t.Errorf("%d: got %s, want %s", deadline, failed, want)
			}
		}
		if ran := f.log.FilterMessage("run ended").Len(); ran != 5 {
			t.Errorf("%d runs, want those that have time alone", ran)
		}
	})
}
