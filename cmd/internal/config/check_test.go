package config

import (
	"os"
	"strings"
	"testing"
)

// checked loads and checks a configuration of a tenant acme with a script order,
// and a tenant beta without any. The tenants come after text.
func checked(t *testing.T, text string, environ ...string) (warnings []string, err error) {
	t.Helper()
	c, err := load(t, text+"\ntenants:\n  acme: {scripts: acme, max_concurrency: 8, limits: {timeout: 1m}}\n  beta: {scripts: beta}\n", environ)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, folder := range []string{"acme/hooks", "beta"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"acme/order.lua", "acme/hooks/stripe.lua"} {
		if err := os.WriteFile(file, []byte("return 1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tenants, err := c.Directory()
	if err != nil {
		t.Fatal(err)
	}
	return c.Check(tenants)
}

func routes(lines ...string) string {
	return "lambda:\n  routes:\n    - " + strings.Join(lines, "\n    - ")
}

func TestCheckFindsWhatCannotWork(t *testing.T) {
	const queue = "arn:aws:sqs:eu-west-1:123456789012:orders"
	for _, test := range []struct{ name, text, want string }{
		{"a route to a missing script", routes("{match: /a, tenant: acme, script: order}", "{match: /b, tenant: acme, script: oder}"), `tidelock.yaml:4: lambda.routes.1.script: tenant acme has no script "oder"`},
		{"a route to another tenant's script", routes("{match: /a, tenant: beta, script: order}"), `tidelock.yaml:3: lambda.routes.0.script: tenant beta has no script "order"`},
		{"a route to nobody's script", routes("{match: /a, script: oder}"), `tidelock.yaml:3: lambda.routes.0.script: no tenant has a script "oder"`},
		{"a schedule of a missing script", "task:\n  schedules:\n    x:\n      tenant: acme\n      script: oder\n      cron: '@every 1m'", `tidelock.yaml:5: task.schedules.x.script: tenant acme has no script "oder"`},
		{"a star in a name", routes("{match: '/orders*', tenant: acme}"), `tidelock.yaml:3: lambda.routes.0.match: "/orders*" matches nothing: names are compared as they are`},
		{"a star in a path", routes("{match: '/*/orders', tenant: acme}"), `"/*/orders" matches nothing: names are compared`},
		{"stars in an ARN", routes("{match: 'arn:aws:sqs:eu-west-1:123456789012:*', tenant: acme}"), `matches nothing: names are compared`},
		{"below no path", routes("{match: 'orders/*', tenant: acme}"), `"orders/*" matches nothing: names are compared`},
		{"a method in small letters", routes("{match: 'post /orders', tenant: acme}"), `tidelock.yaml:3: lambda.routes.0.match: "post /orders" matches nothing: methods are in capitals`},
		{"a path without its slash", routes("{match: 'POST orders', tenant: acme}"), `"POST orders" matches nothing: a path begins with /`},
		{"a query", routes("{match: '/orders?a=1', tenant: acme}"), `"/orders?a=1" matches nothing: a path is compared without its query`},
		{"a blank", routes("{match: '/orders ', tenant: acme}"), `"/orders " matches nothing: it begins or ends with a blank`},
		{"$default below everything", routes("{match: '/*', tenant: acme}", "{match: $default, tenant: beta}"), `tidelock.yaml:4: lambda.routes.1.match: "$default" matches nothing: every path is below "/*", which counts before $default`},
		{"$default before it", routes("{match: $default, tenant: beta}", "{match: '/*', tenant: acme}"), `tidelock.yaml:3: lambda.routes.0.match: "$default" matches nothing`},
		{"a queue that is none", "lambda:\n  batch_responses:\n    - " + queue + "\n    - orders", `tidelock.yaml:4: lambda.batch_responses.1: got "orders", want the ARN of a queue`},
		{"queues by a star", "lambda: {batch_responses: ['arn:aws:sqs:eu-west-1:123456789012:*']}", `tidelock.yaml:1: lambda.batch_responses.0: got`},
		{"a lease of days", "lock: {max_lease: 25h}", `tidelock.yaml:1: lock.max_lease: got 25h0m0s, want 24h0m0s at most`},
		{"more of a tenant than of all", "task:\n  max_concurrency: 8\n  tenant_max_concurrency: 9", `tidelock.yaml:3: task.tenant_max_concurrency: got 9, want task.max_concurrency (8) at most`},
		{"more of a script than of its tenant", "task: {script_max_concurrency: 65}", `tidelock.yaml:1: task.script_max_concurrency: got 65, want task.tenant_max_concurrency (64) at most`},
		{"more of one tenant than of all", "task:\n  max_concurrency: 7\n", `tidelock.yaml:5: tenants.acme.max_concurrency: got 8, want task.max_concurrency (7) at most`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := checked(t, test.text); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	_, err := checked(t, "", "TIDELOCK_TENANTS__ACME__SCRIPT_MAX_CONCURRENCY=9", "TIDELOCK_LOCK__MAX_LEASE=25h")
	want := "TIDELOCK_LOCK__MAX_LEASE: lock.max_lease: got 25h0m0s, want 24h0m0s at most, which is the longest deadline\n" +
		"TIDELOCK_TENANTS__ACME__SCRIPT_MAX_CONCURRENCY: tenants.acme.script_max_concurrency: got 9, want tenants.acme.max_concurrency (8) at most"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCheckPassesWhatWorks(t *testing.T) {
	for _, text := range []string{
		"", "lock: {max_lease: 1m}", "task: {max_concurrency: 8}",
		routes("{match: /a, tenant: acme, script: order.lua}", "{match: 'POST /orders/{id}', tenant: acme, script: hooks/stripe}", "{match: 'ANY /x', tenant: acme}",
			"{match: '/orders/*', tenant: acme}", "{match: 'GET /*', tenant: acme}", "{match: '$default', tenant: acme}", "{match: '*', script: order}",
			"{match: api.example.com, tenant: acme}", "{match: aws.events/Scheduled Event, tenant: acme}", "{match: 'arn:aws:events:eu-west-1:123456789012:rule/nightly', tenant: acme}",
			"{match: shop/Order placed, tenant: acme}"),
		"lambda: {batch_responses: ['arn:aws:sqs:eu-west-1:123456789012:orders', 'arn:aws-cn:sqs:cn-north-1:123456789012:orders.fifo']}",
		"task: {schedules: {x: {tenant: acme, script: order, cron: '@every 1m'}}}",
	} {
		if warnings, err := checked(t, text); err != nil || len(warnings) > 0 {
			t.Errorf("%s: got %v, %v", text, warnings, err)
		}
	}
}

func TestCheckWarnsOfLimitsOverOthers(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"lock: {max_lease: 2m}", "tidelock.yaml:1: lock.max_lease: 2m0s is more than any run may take (limits.timeout: 1m0s), so no lease lasts that long"},
		{"limits: {result_bytes: 7MiB}\n" + routes("{match: '*', tenant: acme}"), "tidelock.yaml:1: limits.result_bytes: AWS Lambda takes 6291456 bytes at most"},
	} {
		if warnings, err := checked(t, test.text); err != nil || len(warnings) != 1 || warnings[0] != test.want {
			t.Errorf("%s: got %v, %v; want %s", test.text, warnings, err, test.want)
		}
	}
}

// Both listeners of a task want the port, whatever their addresses are called.
func TestLoadRefusesOnePortTwice(t *testing.T) {
	for _, test := range []struct {
		listen, internal string
		clash            bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true}, {":8080", "127.0.0.1:8080", true}, {"10.0.0.1:8080", "0.0.0.0:8080", true},
		{"localhost:8080", "127.0.0.1:8080", true}, {"[::1]:8080", "localhost:8080", true}, {"[::]:8080", "10.0.0.1:8080", true},
		{"127.0.0.1:80", "127.0.0.1:http", true}, {"127.0.0.1:8080", "127.0.0.1:08080", true},
		{"127.0.0.1:8080", "127.0.0.1:8081", false}, {"127.0.0.1:0", "127.0.0.1:0", false}, {"10.0.0.1:8080", "127.0.0.1:8080", false},
	} {
		_, err := load(t, "task:\n  listen: '"+test.listen+"'\n  internal_listen: '"+test.internal+"'", nil)
		want := "tidelock.yaml:3: task.internal_listen: the port of task.listen (tidelock.yaml:2: " + test.listen + "): want another"
		if test.clash && (err == nil || err.Error() != want) || !test.clash && err != nil {
			t.Errorf("%s and %s: got %v", test.listen, test.internal, err)
		}
	}
	if _, err := load(t, "task:\n  listen: 127.0.0.1:9090", nil); err == nil || !strings.Contains(err.Error(), "tidelock.yaml:1: task.internal_listen: the port of task.listen (tidelock.yaml:2: 127.0.0.1:9090)") {
		t.Errorf("the default of the other: got %v", err)
	}
}

func TestLoadTakesHosts(t *testing.T) {
	for _, host := range []string{"", "db.internal", "127.0.0.1", "::1", "[::1]", "fe80::1", "/var/run/postgresql", "/tmp/mysql.sock", "a-b_c.example"} {
		if _, err := load(t, "sql: {a: {driver: postgres, host: '"+host+"'}}", nil); err != nil {
			t.Errorf("%s: got %v", host, err)
		}
	}
}
