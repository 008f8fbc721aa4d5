package lambda_test

import (
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/tidelock-lua/tidelock/lambda"
)

func TestEventDirectReachesTheScriptUnchanged(t *testing.T) {
	inFakeTime(t, all("echo"), func(t *testing.T, f *function) {
		for _, test := range []struct{ event, response, failed string }{
			{"", "null", ""},
			{" \n", "null", ""},
			{"null", "null", ""},
			{"{}", "{}", ""},
			{`{"a":[],"b":null,"n":9007199254740992,"s":"<é>"}`, `{"a":[],"b":null,"n":9007199254740992,"s":"<é>"}`, ""},
			{`[1,2]`, `[1,2]`, ""},
			{`"text"`, `"text"`, ""},
			{`{"version":"2.0","Records":[]}`, `{"Records":[],"version":"2.0"}`, ""},
			{`{"Records":[{"eventSource":"aws:kinesis"}]}`, `{"Records":[{"eventSource":"aws:kinesis"}]}`, ""},
			{`{"tenant":"acme","more":1}`, `{"more":1,"tenant":"acme"}`, ""},
			{`{"a":1} x`, "", "Event.Invalid: the event is not JSON: "},
			{"\"\xff\"", "", "Event.Invalid: the event is not JSON: not valid UTF-8"},
			{`{"a":`, "", "Event.Invalid: the event is not JSON: "},
		} {
			f.want(test.event, call{}, test.response, test.failed)
		}
	})
}

const (
	queueARN = "arn:aws:sqs:eu-west-1:123456789012:orders"
	fifoARN  = queueARN + ".fifo"
	ruleARN  = "arn:aws:events:eu-west-1:123456789012:rule/nightly"
	aliasARN = "arn:aws:lambda:eu-west-1:123456789012:function:scripts:acme"
	groupARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/t/6d0ecf831eec9f09"

	eventBridgeEvent = `{"version":"0","id":"53dc4d37","detail-type":"Scheduled Event","source":"aws.events","account":"123456789012",` +
		`"time":"2026-10-08T16:53:06Z","region":"eu-west-1","resources":["` + ruleARN + `"],"detail":{"n":1}}`
	bucketEvent = `{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-west-1","eventTime":"2026-10-08T16:53:06Z",` +
		`"eventName":"ObjectCreated:Put","s3":{"s3SchemaVersion":"1.0","configurationId":"c","bucket":{"name":"in","arn":"arn:aws:s3:::in"},` +
		`"object":{"key":"a+b/%C3%A9%2B.csv","size":10,"eTag":"e","sequencer":"00"}}}]}`
	gatewayEvent = `{"version":"2.0","routeKey":"POST /orders/{id}","rawPath":"/orders/7","rawQueryString":"a=1&a=%C3%A9&b=","cookies":["s=1","t=x=y"],` +
		`"headers":{"Content-Type":"text/plain","x-many":"1,2"},"queryStringParameters":{"a":"1,é"},"pathParameters":{"id":"7"},` +
		`"requestContext":{"http":{"method":"POST","path":"/orders/7","sourceIp":"192.0.2.1"},"requestId":"r1","domainName":"x.example.com",` +
		`"authorizer":{"jwt":{"claims":{"sub":"u"}}}},"body":"AP+ACg==","isBase64Encoded":true}`
	restEvent = `{"resource":"/orders/{id}","path":"/orders/7","httpMethod":"PUT","headers":{"Cookie":"s=1; t=2","X-One":"1"},` +
		`"multiValueHeaders":{"Cookie":["s=1; t=2"],"X-One":["1"],"X-Two":["1","2"]},"queryStringParameters":{"a":"2"},` +
		`"multiValueQueryStringParameters":{"a":["1","2"]},"pathParameters":{"id":"7"},"stageVariables":null,` +
		`"requestContext":{"identity":{"sourceIp":"192.0.2.1"},"requestId":"r2"},"body":"a=1","isBase64Encoded":false}`
	balancerEvent = `{"requestContext":{"elb":{"targetGroupArn":"` + groupARN + `"}},"httpMethod":"GET","path":"/a","headers":{"host":"h"},` +
		`"queryStringParameters":{"q%20":"%C3%A9"},"body":"","isBase64Encoded":false}`
)

// message is a message of a queue.
func message(id, body, more string) string {
	return `{"messageId":"` + id + `","receiptHandle":"h","body":` + body + `,"attributes":{"ApproximateReceiveCount":"2"` + more + `},` +
		`"messageAttributes":{"n":{"stringValue":"1","dataType":"Number"},"b":{"binaryValue":"YQ==","dataType":"Binary"}},` +
		`"eventSource":"aws:sqs","eventSourceARN":"` + queueARN + `","awsRegion":"eu-west-1"}`
}

func TestEventOfServiceHasOneShape(t *testing.T) {
	for _, test := range []struct{ name, script, event, want string }{
		{"EventBridge", "echo", eventBridgeEvent, `{"account":"123456789012","detail":{"n":1},"detail_type":"Scheduled Event","id":"53dc4d37",` +
			`"kind":"eventbridge","region":"eu-west-1","resources":["` + ruleARN + `"],"source":"aws.events","time":"2026-10-08T16:53:06Z"}`},
		{"a function URL or HTTP API", "reply", gatewayEvent, `{"authorizer":{"jwt":{"claims":{"sub":"u"}}},"body":4,` +
			`"cookies":{"s":"1","t":"x=y"},"headers":{"content-type":"text/plain","x-many":"1,2"},"ip":"192.0.2.1","kind":"http","method":"POST",` +
			`"params":{"id":"7"},"path":"/orders/7","query":{"a":"1","b":""},"query_all":{"a":["1","é"],"b":[""]},"request_id":"r1"}`},
		{"a REST API", "reply", restEvent, `{"body":3,"cookies":{"s":"1","t":"2"},"headers":{"cookie":"s=1; t=2","x-one":"1","x-two":"1, 2"},` +
			`"ip":"192.0.2.1","kind":"http","method":"PUT","params":{"id":"7"},"path":"/orders/7","query":{"a":"1"},"query_all":{"a":["1","2"]},"request_id":"r2"}`},
		{"a load balancer", "reply", balancerEvent, `{"body":0,"cookies":{},"headers":{"host":"h"},"kind":"http","method":"GET","path":"/a",` +
			`"query":{"q ":"é"},"query_all":{"q ":["é"]}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, all(test.script), func(t *testing.T, f *function) {
				got, failed := f.invoke(test.event, call{})
				if failed != "" {
					t.Fatal(failed)
				}
				if test.script == "reply" {
					got = body(t, got)
				}
				if got != test.want {
					t.Errorf("\n got %s\nwant %s", got, test.want)
				}
			})
		})
	}
}

func TestResolveTarget(t *testing.T) {
	const acme, unnamed = `{"tenant":"acme","script":"echo","event":`, "no tenant is named for this event"
	route := lambda.Route{Match: aliasARN, Tenant: "acme", Script: "echo"}
	for _, test := range []struct {
		name     string
		routes   []lambda.Route
		platform string
		event    string
		response string
		failed   string
	}{
		{"an envelope", nil, "", acme + `1}`, "1", ""},
		{"an envelope without event", nil, "", `{"tenant":"acme","script":"echo.lua"}`, "null", ""},
		{"an envelope with null", nil, "", acme + `null}`, "null", ""},
		{"neither", nil, "", `{"a":1}`, "", "Tenant.Unknown: " + unnamed},
		{"no script", nil, "acme", `{"a":1}`, "", "Script.NotFound: no script is named"},
		{"platform and envelope", nil, "acme", `{"script":"echo","event":2}`, "2", ""},
		{"platform and envelope agree", nil, "acme", acme + `2}`, "2", ""},
		{"platform and envelope differ", nil, "beta", acme + `2}`, "", "Tenant.Mismatch: the event names another tenant"},
		{"a route", []lambda.Route{route}, "", `{"a":1}`, `{"a":1}`, ""},
		{"route and envelope agree", []lambda.Route{route}, "", acme + `2}`, "2", ""},
		{"route and envelope differ in the tenant", []lambda.Route{route}, "", `{"tenant":"beta","script":"echo"}`, "", "Tenant.Mismatch: "},
		{"route and envelope differ in the script", []lambda.Route{route}, "", `{"tenant":"acme","script":"spin"}`, "", "Tenant.Mismatch: "},
		{"platform and route agree", []lambda.Route{route}, "acme", `1`, `1`, ""},
		{"platform and route differ", []lambda.Route{route}, "beta", `1`, "", "Tenant.Mismatch: "},
		{"a route without tenant", []lambda.Route{{Match: "*", Script: "echo"}}, "beta", `1`, `1`, ""},
		{"a route without script", []lambda.Route{{Match: "*", Tenant: "acme"}}, "", `{"script":"echo","event":3}`, `3`, ""},
		{"the alias before the rest", []lambda.Route{{Match: "*", Tenant: "acme", Script: "spin"}, route}, "", `1`, `1`, ""},
		{"an unknown tenant", nil, "Gamma", acme + `1}`, "", "Tenant.Mismatch: "},
		{"an unknown tenant in the envelope", nil, "", `{"tenant":"gamma","script":"echo"}`, "", `Tenant.Unknown: there is no tenant "gamma"`},
		{"an unknown script", nil, "", `{"tenant":"acme","script":"../beta/echo"}`, "", `Script.NotFound: tenant acme has no script "../beta/echo"`},
		{"a tenant that is no string", nil, "", `{"tenant":5,"script":"echo"}`, "", "Event.Invalid: the envelope's tenant is no string"},
		{"a rule by its ARN", []lambda.Route{{Match: ruleARN, Tenant: "acme", Script: "nothing"}}, "", eventBridgeEvent, "null", ""},
		{"a rule by source and type", []lambda.Route{{Match: "aws.events/Scheduled Event", Tenant: "acme", Script: "nothing"}}, "", eventBridgeEvent, "null", ""},
		{"a rule by source", []lambda.Route{{Match: "aws.events", Tenant: "acme", Script: "nothing"}}, "", eventBridgeEvent, "null", ""},
		{"a bucket", []lambda.Route{{Match: "arn:aws:s3:::in", Tenant: "acme", Script: "nothing"}}, "", bucketEvent, "null", ""},
		{"a bucket without route", nil, "", bucketEvent, "", "Tenant.Unknown: " + unnamed + ": it needs a route for arn:aws:s3:::in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, routed(test.routes...), func(t *testing.T, f *function) {
				c := call{LambdaContext: lambdacontext.LambdaContext{TenantID: test.platform, InvokedFunctionArn: aliasARN}}
				f.want(test.event, c, test.response, test.failed)
			})
		})
	}
}

func TestResolveErrorNamesNoOtherTenant(t *testing.T) {
	inFakeTime(t, all("echo"), func(t *testing.T, f *function) {
		_, failed := f.invoke(`{"tenant":"beta","script":"echo"}`, call{})
		if want := "Tenant.Mismatch: the event names another tenant than the one that it belongs to"; failed != want {
			t.Errorf("got %q, want %q", failed, want)
		}
	})
}

func TestRouteMostExactMatchCounts(t *testing.T) {
	in := func(match string) lambda.Route { return lambda.Route{Match: match, Tenant: "acme", Script: "reply"} }
	wrong := func(match string) lambda.Route { return lambda.Route{Match: match, Tenant: "acme", Script: "missing"} }
	for _, test := range []struct {
		name, event string
		routes      []lambda.Route
	}{
		{"the gateway's route", gatewayEvent, []lambda.Route{in("POST /orders/{id}"), wrong("POST /orders/7")}},
		{"a REST API's resource", restEvent, []lambda.Route{in("PUT /orders/{id}"), wrong("/orders/7")}},
		{"a target group", balancerEvent, []lambda.Route{in(groupARN), wrong("/a")}},
		{"method and path", gatewayEvent, []lambda.Route{in("POST /orders/7"), wrong("/orders/7"), wrong("GET /orders/7")}},
		{"a path", gatewayEvent, []lambda.Route{in("/orders/7"), wrong("/orders/*"), wrong("/orders")}},
		{"below a path, with method", gatewayEvent, []lambda.Route{in("POST /orders/*"), wrong("/orders/*"), wrong("/*")}},
		{"below a path", gatewayEvent, []lambda.Route{in("/orders/*"), wrong("/*"), wrong("/order/*"), wrong("/orders/7/*")}},
		{"below the root", gatewayEvent, []lambda.Route{in("/*"), wrong("x.example.com")}},
		{"a domain", gatewayEvent, []lambda.Route{in("x.example.com"), wrong("$default")}},
		{"the rest of HTTP", gatewayEvent, []lambda.Route{in("$default"), wrong("*")}},
		{"the rest", gatewayEvent, []lambda.Route{in("*")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, routed(test.routes...), func(t *testing.T, f *function) {
				got, failed := f.invoke(test.event, call{})
				if failed != "" || body(t, got) == "" || f.begun.Load() != 1 {
					t.Errorf("got %s %s", got, failed)
				}
			})
		})
	}
}

// Any client may send a request: its body must not choose the script.
func TestRequestBodyIsNoEnvelope(t *testing.T) {
	const event = `{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"POST"}},"body":"{\"tenant\":\"acme\",\"script\":\"nothing\"}"}`
	inFakeTime(t, nil, func(t *testing.T, f *function) {
		got, _ := f.invoke(event, call{})
		want := `{"statusCode":404,"headers":{"content-type":"application/json"},"body":"{\"error\":{\"message\":\"no tenant is named for this event: ` +
			`it needs a route for POST /\",\"retryable\":false,\"type\":\"Tenant.Unknown\"},\"request_id\":\"request-1\"}","isBase64Encoded":false}`
		if got != want || f.begun.Load() != 0 {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	})
}
