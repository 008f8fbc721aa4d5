package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/tenant"
)

const hash = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestLoadErrorsNameTheLine(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"an anchor", "tenants:\n  a:\n    limits: &l\n      timeout: 1s\n      foo: 2", `tidelock.yaml:5: tenants.a.limits.foo: unknown key`},
		{"an alias", "tenants:\n  a: {limits: &l {foo: 2}}\n  b:\n    limits: *l", `tidelock.yaml:2: tenants.b.limits.foo: unknown key`},
		{"a merge key", "tenants:\n  a: &t {limitz: 1}\n  b:\n    <<: *t", `tidelock.yaml:2: tenants.b.limitz: unknown key`},
		{"a tab", "db:\n\tfile: x", `tidelock.yaml:2: found character`},
		{"a key twice", "log: {}\ndb: {file: a}\ndb: {file: b}", `tidelock.yaml:3: mapping key "db" already defined`},
		{"an open quote", "db:\n  file: \"x", `tidelock.yaml:2: `},
		{"a list", "- a", `tidelock.yaml:1: `},
		{"a text", "text", `tidelock.yaml:1: `},
		{"no for a text", "log:\n  level: no", `tidelock.yaml:2: log.level: got "no"`},
		{"an allowed host", "http:\n  allow:\n    - 'http://x'", `tidelock.yaml:2: http.allow: "http://x"`},
		{"a tenant's allowed host", "tenants:\n  a:\n    http: {allow: ['http://x']}", `tidelock.yaml:3: tenants.a.http.allow: "http://x"`},
		{"a tenant's id", "tenants:\n  a: {}\n  1.5: {}", `tidelock.yaml:3: tenants.1.5: tenant id "1.5"`},
		{"no driver", "sql:\n  a:\n    host: h", `tidelock.yaml:2: sql.a.driver: got ""`},
		{"sqlite without a file", "sql:\n  a: {driver: sqlite}", `tidelock.yaml:2: sql.a.file: the driver sqlite needs it`},
		{"a route to an unknown tenant", "lambda:\n  routes:\n    - match: x\n      tenant: b", `tidelock.yaml:4: lambda.routes.0.tenant: there is no tenant "b"`},
		{"a schedule of an unknown tenant", "task:\n  schedules:\n    x: {tenant: b}", `tidelock.yaml:3: task.schedules.x.tenant: there is no tenant "b"`},
		{"an address without a port", "task:\n  listen: localhost", `tidelock.yaml:2: task.listen: got "localhost"`},
		{"another address without one", "task: {internal_listen: '127.0.0.1:'}", `tidelock.yaml:1: task.internal_listen: got "127.0.0.1:"`},
		{"a collector that is no URL", "trace: {endpoint: 'collector:4318'}", `tidelock.yaml:1: trace.endpoint: want a URL`},
		{"a collector without a host", "trace: {endpoint: 'http://:4318'}", `tidelock.yaml:1: trace.endpoint: want a URL`},
		{"a collector of another protocol", "trace: {endpoint: 'grpc://c:4317'}", `tidelock.yaml:1: trace.endpoint: want a URL`},
		{"a collector with a port that is none", "trace: {endpoint: 'http://c:99999'}", `tidelock.yaml:1: trace.endpoint: want a URL`},
		{"a collector with a fragment", "trace: {endpoint: 'http://c:4318/#x'}", `tidelock.yaml:1: trace.endpoint: want a URL without a fragment`},
		{"a port that is none", "task: {listen: '127.0.0.1:70000'}", `tidelock.yaml:1: task.listen: got "127.0.0.1:70000"`},
		{"a host that is a URL", "sql:\n  a:\n    driver: postgres\n    host: postgres://h/db", `tidelock.yaml:4: sql.a.host: want a host alone`},
		{"a host that is a DSN", "sql:\n  a:\n    driver: postgres\n    host: host=h user=u", `tidelock.yaml:4: sql.a.host: want a host alone`},
		{"a tenant's host that is a DSN", "tenants:\n  t:\n    sql:\n      a: {driver: mysql, host: 'u@tcp(h:3306)/d'}", `tidelock.yaml:4: tenants.t.sql.a.host: want a host alone`},
		{"a host with its port", "sql:\n  a: {driver: mysql, host: 'h:3306'}", `tidelock.yaml:2: sql.a.host: want a host without a port`},
		{"a port of a database that is none", "sql:\n  a: {driver: mysql, port: 70000}", `tidelock.yaml:2: sql.a.port: want a port from 1 to 65535`},
		{"a database that is a URL", "sql:\n  a: {driver: mysql, database: 'mysql://h/d'}", `tidelock.yaml:2: sql.a.database: want a name alone`},
		{"one token for two tenants", "tenants:\n  a: {tokens: ['" + hash + "']}\n  b:\n    tokens:\n      - '" + strings.ToUpper(strings.TrimPrefix(hash, "sha256:")) + "'\n      - 'sha256:" + strings.ToUpper(strings.TrimPrefix(hash, "sha256:")) + "'",
			`tidelock.yaml:5: tenants.b.tokens.0: want sha256:`},
		{"one token for two tenants, in capitals", "tenants:\n  a: {tokens: ['" + hash + "']}\n  b:\n    tokens:\n      - 'sha256:" + strings.ToUpper(strings.TrimPrefix(hash, "sha256:")) + "'",
			`tidelock.yaml:5: tenants.b.tokens.0: the same token as tidelock.yaml:2: tenants.a.tokens.0: each bearer needs its own`},
		{"one token for an operator and a tenant", "task:\n  operator_tokens: ['" + hash + "']\ntenants:\n  a: {tokens: ['" + hash + "']}",
			`tidelock.yaml:4: tenants.a.tokens.0: the same token as tidelock.yaml:2: task.operator_tokens.0: each bearer needs its own`},
		{"a route without a match", "lambda:\n  routes:\n    - {script: x}", `tidelock.yaml:3: lambda.routes.0.match: a route matches nothing`},
		{"a route with a long match", "lambda:\n  routes:\n    - {match: " + strings.Repeat("x", 1025) + ", script: x}", `tidelock.yaml:3: lambda.routes.0.match: want 1024 bytes at most`},
		{"a route to nothing", "lambda:\n  routes:\n    - {match: x}", `tidelock.yaml:3: lambda.routes.0: want a tenant, a script, or both`},
		{"a match twice", "lambda:\n  routes:\n    - {match: x, script: a}\n    - {match: y, script: a}\n    - {match: x, script: b}",
			`tidelock.yaml:5: lambda.routes.2.match: "x" is matched by tidelock.yaml:3: lambda.routes.0.match already`},
		{"a service that is no URL", "db: {table: t, endpoint: x}", `tidelock.yaml:1: db.endpoint: want a URL`},
	} {
		if _, err := load(t, test.text, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestLoadEquivalentFiles(t *testing.T) {
	for _, test := range []struct{ name, text string }{
		{"nothing", ""}, {"blanks", " \n"}, {"a comment", "# nothing"}, {"null", "null"}, {"an empty document", "---\n"},
		{"a key without a value", "db:"}, {"keys without values", "lock:\nlimits:\nlog:\ntask: {listen:}\ntenants:\nhttp:\nlambda:\n"},
		{"an empty table", "db: {table: ''}"},
	} {
		c, err := load(t, test.text, nil)
		if err != nil || c.DB.File != DefaultDBFile || c.DB.Table != "" {
			t.Errorf("%s: got %+v, %v; want the default", test.name, c, err)
		}
	}
	for _, text := range []string{
		"tenants:\n  no: {limits: {timeout: 9s}}", "\ufefftenants: {no: {limits: {timeout: 9s}}}", "tenants:\r\n  no:\r\n    limits: {timeout: 9s}\r\n",
		"tenants:\n  x: &x {limits: {timeout: 9s}}\n  no: *x", "tenants:\n  x: &x {limits: {timeout: 9s}}\n  no: {<<: *x}",
	} {
		c, err := load(t, text, nil)
		if err != nil || c.TenantLimits("no").Timeout.Seconds() != 9 {
			t.Errorf("%q: got %+v, %v", text, c, err)
		}
	}
	c, err := load(t, "db: {file: ''}", nil)
	if err != nil || c.DB.File != "" {
		t.Errorf("got %+v, %v; want no database", c, err)
	}
}

// What is wrong may be the secret itself, in a wrong place.
func TestLoadErrorsShowNoSecret(t *testing.T) {
	for _, test := range []struct {
		text    string
		environ string
	}{
		{"sql: {a: 'postgres://u:hunter2@h/db'}", ""}, {"sql: [hunter2]", ""}, {"sql: hunter2", ""},
		{"sql: {a: {driver: postgres, password: hunter2}}", ""}, {"sql: {a: {driver: postgres, password: [hunter2]}}", ""},
		{"sql: {a: {driver: postgres, port: hunter2}}", ""}, {"sql: {a: {driver: postgres, read_only: hunter2}}", ""},
		{"tenants: {a: {sql: {b: hunter2}}}", ""}, {"tenants: {a: {tokens: hunter2}}", ""}, {"tenants: {a: {tokens: [{x: hunter2}]}}", ""},
		{"tenants: {a: {tokens: {hunter2: x}}}", ""}, {"task: {operator_tokens: [hunter2]}", ""}, {"task: {operator_tokens: [12, 'sha256:hunter2']}", ""},
		{"trace: {endpoint: 'http://u:hunter2@h:1'}", ""}, {"trace: {endpoint: ['hunter2']}", ""}, {"db: {table: t, endpoint: 'http://u:hunter2@h:1'}", ""},
		{"sql: {a: {driver: postgres, host: 'postgres://u:hunter2@h/db'}}", ""}, {"sql: {a: {driver: mysql, host: 'u:hunter2@tcp(h:3306)/db'}}", ""},
		{"sql: {a: {driver: postgres, host: 'host=h password=hunter2'}}", ""}, {"sql: {a: {driver: postgres, host: 'h?password=hunter2'}}", ""},
		{"sql: {a: {driver: postgres, host: 'h:hunter2'}}", ""}, {"sql: {a: {driver: postgres, host: 'h/hunter2'}}", ""},
		{"sql: {a: {driver: postgres, database: 'postgres://u:hunter2@h/db'}}", ""}, {"sql: {a: {driver: postgres, user: 'postgres://u:hunter2@h/db'}}", ""},
		{"tenants: {a: {sql: {b: {driver: postgres, host: 'u:hunter2@h'}}}}", ""}, {"", "TIDELOCK_SQL__A__HOST=u:hunter2@h"},
		{"trace: {endpoint: 'http://u:hunter2@h:x'}", ""}, {"sql: {a: {password: \"hunter2", ""}, {"sql: {a: {password: *hunter2}}", ""},
		{"", "TIDELOCK_SQL__A__PASSWORD=hunter2"}, {"", "TIDELOCK_SQL__A=hunter2"}, {"", "TIDELOCK_SQL=hunter2"}, {"", "TIDELOCK_TASK__OPERATOR_TOKENS=hunter2"},
	} {
		_, err := load(t, test.text, []string{test.environ})
		switch {
		case err == nil:
			t.Errorf("%s%s: got no error", test.text, test.environ)
		case strings.Contains(err.Error(), "hunter2") && !strings.Contains(test.text, "*hunter2") && !strings.Contains(test.text, "{hunter2"):
			t.Errorf("%s%s: got %v", test.text, test.environ, err)
		}
	}
	if _, err := load(t, "tenants: {a: {tokens: ['"+hash+"']}}\ntask: {operator_tokens: ['ops="+strings.Replace(hash, "0", "f", 1)+"']}", nil); err != nil {
		t.Errorf("a hash: got %v", err)
	}
}

func TestSecretFileIsRelativeToTheConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("etc", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"etc/c.yaml":  "sql: {a: {driver: mysql, password: 'file:a.txt'}, b: {driver: mysql, password: 'file:b.txt'}, c: {driver: mysql, password: 'file:c.txt'}, d: {driver: mysql, password: 'file:missing'}, e: {driver: mysql, password: 'env:TEST_EMPTY'}}",
		"etc/a.txt":   "pw \r\n",
		"etc/b.txt":   "\n",
		"etc/c.txt":   strings.Repeat("x", secretBytesMax+1),
		"passwd/here": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TEST_EMPTY", "")
	c, err := Load(Options{File: "etc/c.yaml", Environ: []string{"TIDELOCK_SQL__F__DRIVER=mysql", "TIDELOCK_SQL__F__PASSWORD=file:etc/a.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "f"} { // the environment's is relative to the working folder
		if got, err := c.SQL[name].Password.Resolve(); got != "pw " || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	err = c.CheckSecrets()
	if err == nil || strings.Count(err.Error(), "etc/c.yaml:1: sql.") != 4 {
		t.Errorf("got %v, want four errors with their place", err)
	}
}

func TestTenantLimitOfZeroDisables(t *testing.T) {
	c, err := load(t, "limits: {instructions: 500}\ntenants: {a: {limits: {instructions: 0}}, b: {limits: {instructions: 7}}, c: {}}", nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int64{"a": 0, "b": 7, "c": 500, "d": 500} {
		if got := c.TenantLimits(tenant.ID(id)).Instructions; got != want {
			t.Errorf("%s: got %d, want %d", id, got, want)
		}
	}
}
