package lambda_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/lambda"
)

// work is an envelope for the script work, as a message's body.
func work(ms int, fails bool) string {
	return fmt.Sprintf(`"{\"tenant\":\"acme\",\"script\":\"work\",\"event\":{\"ms\":%d,\"fails\":%v}}"`, ms, fails)
}

// records are messages with the ids 1, 2 ...
func records(bodies ...string) string {
	var out []string
	for n, body := range bodies {
		out = append(out, message(fmt.Sprint(n+1), body, ""))
	}
	return `{"Records":[` + strings.Join(out, ",") + `]}`
}

// grouped are messages of a FIFO queue, each with its group in front.
func grouped(bodies ...string) string {
	var out []string
	for n, body := range bodies {
		out = append(out, strings.Replace(message(fmt.Sprint(n+1), body[1:], `,"MessageGroupId":"`+body[:1]+`"`), queueARN, fifoARN, 1))
	}
	return `{"Records":[` + strings.Join(out, ",") + `]}`
}

func partial(c *lambda.Config) { c.BatchResponses = []string{queueARN, fifoARN} }

func TestBatchResponse(t *testing.T) {
	const none = `{"batchItemFailures":[]}`
	failed := func(ids ...string) string {
		for n, id := range ids {
			ids[n] = `{"itemIdentifier":"` + id + `"}`
		}
		return `{"batchItemFailures":[` + strings.Join(ids, ",") + `]}`
	}
	ok, bad := work(10, false), work(10, true)
	for _, test := range []struct {
		name, event string
		configure   func(*lambda.Config)
		response    string
		failed      string
		begun       int32
	}{
		{"all good", records(ok, ok, ok), partial, none, "", 3},
		{"one bad", records(ok, bad, ok), partial, failed("2"), "", 3},
		{"all bad", records(bad, bad), partial, failed("1", "2"), "", 2},
		{"an unknown tenant", records(ok, `"{\"tenant\":\"gamma\",\"script\":\"work\"}"`), partial, failed("2"), "", 1},
		{"no envelope and no route", records(`"text"`, ok), partial, failed("1"), "", 1},
		{"without the switch, all good", records(ok, ok), nil, "null", "", 2},
		{"without the switch, one bad", records(ok, bad, ok), nil, "", "Script.Raised: one of 3 messages failed, so all of them come again: bad: 2", 3},
		{"without the switch, a single one", records(bad), nil, "", "Script.Raised: bad: 1", 1},
		{"without the switch nothing begins after a failure", records(bad, work(50, false), work(50, false), work(50, false), ok, ok), nil, "",
			"Script.Raised: one of 6 messages", 4},
		{"a group stops at its first failure", grouped("a"+ok, "a"+bad, "b"+ok, "a"+ok, "b"+ok, "a"+ok), partial, failed("2", "4", "6"), "", 4},
		{"groups without the switch", grouped("a"+ok, "a"+bad, "a"+ok), nil, "", "Script.Raised: one of 3 messages failed", 2},
		{"a message without id", strings.Replace(records(ok, ok), `"messageId":"2"`, `"messageId":""`, 1), partial, "",
			"Event.Invalid: record 2: a message without messageId", 0},
		{"a record of something else", strings.Replace(records(ok, ok), `"eventSource":"aws:sqs"`, `"eventSource":"aws:sns"`, 1), partial, `{"Records"`, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, test.configure, func(t *testing.T, f *function) {
				if strings.HasPrefix(test.response, `{"Records"`) { // its first record decides what it is
					f.want(test.event, call{}, "", "Tenant.Unknown")
					return
				}
				f.want(test.event, call{}, test.response, test.failed)
				if got := f.begun.Load(); got != test.begun {
					t.Errorf("%d runs began, want %d", got, test.begun)
				}
			})
		})
	}
}

func TestBatchEventHasTheMessageAndItsAttributes(t *testing.T) {
	const around = `"attributes":{"ApproximateReceiveCount":"2"},"body":%s,"id":"1","kind":"sqs","message_attributes":{"b":"a","n":"1"},"queue":"` + queueARN + `"}`
	for body, want := range map[string]string{
		`"text"`:      `"text"`,
		`"{\"a\":1}"`: `"{\"a\":1}"`,
		`"{\"tenant\":\"acme\",\"script\":\"raise_event\",\"event\":[1]}"`: `[1]`,
	} {
		route := routed(lambda.Route{Match: queueARN, Tenant: "acme", Script: "raise_event"})
		inFakeTime(t, func(c *lambda.Config) { route(c); raisingEvent(c) }, func(t *testing.T, f *function) {
			_, failed := f.invoke(records(body), call{})
			if want := "Script.Raised: " + fmt.Sprintf(`seen: {`+around, want); failed != want {
				t.Errorf("\n got %s\nwant %s", failed, want)
			}
		})
	}
	inFakeTime(t, func(c *lambda.Config) { all("raise_event")(c); raisingEvent(c) }, func(t *testing.T, f *function) {
		_, failed := f.invoke(bucketEvent, call{})
		want := `Script.Raised: seen: {"bucket":"in","kind":"s3","name":"ObjectCreated:Put","object":{"etag":"e","key":"a b/é+.csv","sequencer":"00","size":10},` +
			`"region":"eu-west-1","time":"2026-10-08T16:53:06Z"}`
		if failed != want {
			t.Errorf("\n got %s\nwant %s", failed, want)
		}
	})
}

// raisingEvent adds the script raise_event, which raises the event that it gets.
func raisingEvent(c *lambda.Config) {
	scripts := returning(`error({ code = "seen", message = native.json.encode(event) })`)
	routes := c.Routes
	scripts(c)
	c.Routes = routes
	folder := c.Tenants["acme"].Scripts
	folder[0] = renamed{folder[0]}
}

func TestBatchConcurrencyIsBoundedAndGroupsRunInOrder(t *testing.T) {
	for _, test := range []struct {
		name        string
		concurrency int
		event       string
		want        time.Duration
	}{
		{"four by default", 0, records(work(100, false), work(100, false), work(100, false), work(100, false), work(100, false)), 200 * time.Millisecond},
		{"one", 1, records(work(100, false), work(100, false)), 200 * time.Millisecond},
		{"a group", 4, grouped("a"+work(100, false), "a"+work(100, false), "b"+work(100, false)), 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(c *lambda.Config) { c.Concurrency = test.concurrency }, func(t *testing.T, f *function) {
				began := time.Now()
				f.want(test.event, call{}, "null", "")
				// A run yields now and then, which takes 1 ms here.
				if took := time.Since(began); took < test.want || took > test.want+50*time.Millisecond {
					t.Errorf("took %v, want %v", took, test.want)
				}
			})
		})
	}
}

func TestBatchMessagesWithoutTimeLeftAreDeliveredAgain(t *testing.T) {
	one := func(c *lambda.Config) { c.Concurrency = 1; partial(c) }
	slow := work(850, false)
	inFakeTime(t, one, func(t *testing.T, f *function) {
		f.want(records(slow, slow, slow, slow, slow), call{}, `{"batchItemFailures":[{"itemIdentifier":"4"},{"itemIdentifier":"5"}]}`, "")
		if f.begun.Load() != 3 || f.log.FilterMessage("messages were not begun").Len() != 1 {
			t.Errorf("%d runs began; %v", f.begun.Load(), f.log.All())
		}
	})
	inFakeTime(t, func(c *lambda.Config) { c.Concurrency = 1 }, func(t *testing.T, f *function) {
		f.want(records(slow, slow, slow, slow), call{}, "", "Script.Timeout: one of 4 messages failed, so all of them come again: not begun: too little")
	})
}
