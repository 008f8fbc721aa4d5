package lambda_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tidelock-lua/tidelock/lambda"
)

// returning sends everything to a script that returns an expression.
func returning(expression string) func(*lambda.Config) {
	return func(c *lambda.Config) {
		all("returning")(c)
		acme := c.Tenants["acme"]
		acme.Scripts[0] = fstest.MapFS{"returning.lua": {Data: []byte("return function(event) return " + expression + " end")}}
	}
}

func TestResponseFormatOfEachSender(t *testing.T) {
	balancerMulti := strings.Replace(balancerEvent, `"headers":{"host":"h"}`, `"multiValueHeaders":{"host":["h"]}`, 1)
	const bytesBack = `{ status = 201, headers = { ["X-Many"] = { "1", "2" }, n = 5 }, cookies = { "a=1; Path=/", "b=2" }, body = "\0\255\128\n" }`
	for _, test := range []struct{ name, event, script, want string }{
		{"a function URL", gatewayEvent, bytesBack, `{"statusCode":201,"headers":{"content-type":"application/octet-stream","n":"5","x-many":"1, 2"},` +
			`"cookies":["a=1; Path=/","b=2"],"body":"AP+ACg==","isBase64Encoded":true}`},
		{"a REST API", restEvent, bytesBack, `{"statusCode":201,"multiValueHeaders":{"content-type":["application/octet-stream"],"n":["5"],` +
			`"set-cookie":["a=1; Path=/","b=2"],"x-many":["1","2"]},"body":"AP+ACg==","isBase64Encoded":true}`},
		{"a load balancer with several values", balancerMulti, bytesBack, `{"statusCode":201,"statusDescription":"201 Created","multiValueHeaders":` +
			`{"content-type":["application/octet-stream"],"n":["5"],"set-cookie":["a=1; Path=/","b=2"],"x-many":["1","2"]},"body":"AP+ACg==","isBase64Encoded":true}`},
		{"a load balancer", balancerEvent, `{ cookies = { "a=1" }, body = "<é>" }`, `{"statusCode":200,"statusDescription":"200 OK","headers":` +
			`{"content-type":"text/plain; charset=utf-8","set-cookie":"a=1"},"body":"<é>","isBase64Encoded":false}`},
		{"bytes there and back", gatewayEvent, `{ body = event.body, headers = { ["Content-Type"] = "x/y" } }`,
			`{"statusCode":200,"headers":{"content-type":"x/y"},"body":"AP+ACg==","isBase64Encoded":true}`},
		{"nothing", gatewayEvent, `nil`, `{"statusCode":204,"body":"","isBase64Encoded":false}`},
		{"an empty table", gatewayEvent, `{}`, `{"statusCode":200,"body":"","isBase64Encoded":false}`},
		{"an empty list of cookies", gatewayEvent, `{ cookies = {}, headers = {} }`, `{"statusCode":200,"body":"","isBase64Encoded":false}`},
		{"a table as body", gatewayEvent, `{ body = { list = native.json.list{} } }`,
			`{"statusCode":200,"headers":{"content-type":"application/json"},"body":"{\"list\":[]}","isBase64Encoded":false}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, returning(test.script), func(t *testing.T, f *function) {
				got, failed := f.invoke(test.event, call{})
				got = strings.Replace(got, `"headers":{},`, "", 1)
				if got != test.want || failed != "" {
					t.Errorf("\n got %s%s\nwant %s", got, failed, test.want)
				}
			})
		})
	}
}

func TestDocumentationExampleWorks(t *testing.T) {
	page, err := os.ReadFile("../docs/lambda.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```lua\nreturn function(event)\n")
	example, _, _ = strings.Cut(example, "\nend\n```")
	inFakeTime(t, returning("(function() "+example+" end)()"), func(t *testing.T, f *function) {
		f.want(gatewayEvent, call{}, `{"statusCode":201,"headers":{"content-type":"application/json","x-many":"a, b"},`+
			`"cookies":["session=1; Path=/; HttpOnly"],"body":"{\"id\":\"7\"}","isBase64Encoded":false}`, "")
	})
}

func TestResponseErrorNamesTheField(t *testing.T) {
	for script, want := range map[string]string{
		`"text"`:                                    "result: want nothing or a table",
		`{ 1, 2 }`:                                  "result: want nothing or a table",
		`{ statusCode = 200 }`:                      "result.statusCode: an answer has no such field",
		`{ status = "200" }`:                        "result.status: want a whole number",
		`{ status = 200.5 }`:                        "result.status: want a whole number",
		`{ status = 100 }`:                          "result.status: want a whole number from 200",
		`{ status = 600 }`:                          "result.status: want a whole number",
		`{ headers = { "a" } }`:                     "result.headers: want a table of names",
		`{ headers = { a = true } }`:                "result.headers.a: want a string",
		`{ headers = { a = "x\r\nset-cookie: b" }}`: "result.headers.a: want a string without control",
		`{ headers = { a = "\255" } }`:              "result.headers.a: want a string",
		`{ headers = { ["a b"] = "x" } }`:           "result.headers.a b: no name of a header",
		`{ headers = { A = "x", a = "y" } }`:        "result.headers.a: a second time",
		`{ headers = { ["Set-Cookie"] = "a=1" } }`:  "result.headers.Set-Cookie: want it in cookies",
		`{ cookies = "a=1" }`:                       "result.cookies: want a list",
		`{ cookies = { "a=1", "b" } }`:              "result.cookies[2]: want a string",
		`{ cookies = { "a=1\n" } }`:                 "result.cookies[1]: want a string",
		`{ body = 5 }`:                              "result.body: want a string, or a table",
		`{ body = { a = "\255" } }`:                 "result.body.a: a string that is not UTF-8",
		`{ body = print }`:                          "result.body: function",
	} {
		inFakeTime(t, returning(script), func(t *testing.T, f *function) {
			got, failed := f.invoke(gatewayEvent, call{})
			if failed != "" || !strings.HasPrefix(got, `{"statusCode":500,`) || !strings.Contains(body(t, got), `"message":"`+want) {
				t.Errorf("%s: got %s%s, want %q", script, got, failed, want)
			}
		})
	}
	inFakeTime(t, returning(`{ cookies = { "a=1", "b=2" } }`), func(t *testing.T, f *function) {
		if got, _ := f.invoke(balancerEvent, call{}); !strings.Contains(got, "result.cookies: got 2, and the load balancer takes only one") {
			t.Errorf("got %s", got)
		}
	})
}

func TestResponseStatusOfAFailedRun(t *testing.T) {
	for _, test := range []struct{ script, status, body string }{
		{`error("x")`, "422", `{"error":{"message":"returning.lua:1: x","retryable":false,"type":"Script.RuntimeError"},"request_id":"request-1"}`},
		{`error({ code = "no_stock", message = "none left", retryable = true })`, "422",
			`{"error":{"code":"no_stock","message":"no_stock: none left","retryable":true,"type":"Script.Raised"},"request_id":"request-1"}`},
		{`native.sleep(5000)`, "504", "Script.Timeout"},
		{`native.test.panic()`, "422", "internal error"},
		{`{ body = string.rep("x", 6 * 1024 * 1024) }`, "413", "Result.TooLarge"},
		{`{ body = { string.rep("x", 6 * 1024 * 1024) } }`, "413", "Result.TooLarge"},
	} {
		inFakeTime(t, returning(test.script), func(t *testing.T, f *function) {
			got, failed := f.invoke(gatewayEvent, call{})
			if failed != "" || !strings.HasPrefix(got, `{"statusCode":`+test.status+`,"headers":{"content-type":"application/json"},`) || !strings.Contains(body(t, got), test.body) {
				t.Errorf("%s: got %.1000s%s, want %s %s", test.script, got, failed, test.status, test.body)
			}
			if strings.Contains(got, "secret") {
				t.Errorf("%s: got %s", test.script, got)
			}
		})
	}
	inFakeTime(t, all("missing"), func(t *testing.T, f *function) {
		if got, _ := f.invoke(gatewayEvent, call{}); !strings.HasPrefix(got, `{"statusCode":404,`) {
			t.Errorf("got %s, want 404", got)
		}
		bad := strings.Replace(gatewayEvent, "AP+ACg==", "AP+ACg=", 1)
		if got, _ := f.invoke(bad, call{}); !strings.HasPrefix(got, `{"statusCode":400,`) {
			t.Errorf("got %s, want 400", got)
		}
	})
}

// A form that arrives as base64, as gateways really send it, or plain, as
// emulators do, is the same to a script.
func TestRequestBodyIsBase64IfTheFlagIsSet(t *testing.T) {
	for _, event := range []string{
		strings.Replace(restEvent, `"body":"a=1","isBase64Encoded":false`, `"body":"YT0x","isBase64Encoded":true`, 1), restEvent,
	} {
		inFakeTime(t, returning(`{ body = event.body }`), func(t *testing.T, f *function) {
			if got, failed := f.invoke(event, call{}); failed != "" || body(t, got) != "a=1" {
				t.Errorf("got %s%s, want the body a=1", got, failed)
			}
		})
	}
}
