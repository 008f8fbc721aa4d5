package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// load loads a configuration from a file with a text, in a folder of its own
// that is also the working folder.
func load(t *testing.T, text string, environ []string, flags ...Flag) (*Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if text != "" {
		if err := os.WriteFile(DefaultFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(Options{Environ: environ, Flags: flags})
}

func TestLoadEachSourceCountsMoreThanThoseBefore(t *testing.T) {
	table := Flag{"db.table", "--db-table", "flag"}
	for _, test := range []struct {
		name, text string
		environ    []string
		flags      []Flag
		want       DB
	}{
		{"nothing", "", nil, nil, DB{File: "tidelock.db"}},
		{"a file", "db: {table: file}", nil, nil, DB{Table: "file"}},
		{"JSON", `{"db": {"table": "file"}}`, nil, nil, DB{Table: "file"}},
		{"the environment", "db: {table: file, region: r}", []string{"TIDELOCK_DB__TABLE=env"}, nil, DB{Table: "env", Region: "r"}},
		{"an empty variable", "db: {table: file}", []string{"TIDELOCK_DB__TABLE="}, nil, DB{Table: "file"}},
		{"a flag", "db: {table: file}", []string{"TIDELOCK_DB__TABLE=env"}, []Flag{table}, DB{Table: "flag"}},
		{"another store in the environment", "db: {table: file, region: r, endpoint: e}", []string{"TIDELOCK_DB__FILE=env"}, nil, DB{File: "env"}},
		{"another store in a flag", "db: {file: a.db}", nil, []Flag{table}, DB{Table: "flag"}},
		{"a region for no table", "", []string{"TIDELOCK_DB__REGION=r"}, nil, DB{File: "tidelock.db"}},
		{"other variables", "", []string{"TIDELOCK=x", "PATH=y"}, nil, DB{File: "tidelock.db"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := load(t, test.text, test.environ, test.flags...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.DB, test.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadErrorsNameKeyAndPlace(t *testing.T) {
	for _, test := range []struct {
		text    string
		environ []string
		want    string
	}{
		{"db:\n  tabel: x", nil, `tidelock.yaml:2: db.tabel: unknown key, did you mean "table"?`},
		{"tenants:\n  acme:\n    limits:\n      memry: 1GiB", nil, `tidelock.yaml:4: tenants.acme.limits.memry: unknown key, did you mean "memory"?`},
		{"lambda:\n  routes:\n    - match: x\n      tenants: y", nil, `tidelock.yaml:4: lambda.routes.0.tenants: unknown key, did you mean "tenant"?`},
		{"colour: red", nil, `tidelock.yaml:1: colour: unknown key, known are db, `},
		{"", []string{"TIDELOCK_DB__TABEL=x"}, `TIDELOCK_DB__TABEL: db.tabel: unknown key, did you mean "table"?`},
		{"limits: {timeout: 30}", nil, `tidelock.yaml:1: limits.timeout: got 30, want a time with its unit`},
		{"limits: {timeout: 0s}", nil, `limits.timeout: got 0s, want more than 0`},
		{"task: {protect_after: -1s}", nil, `task.protect_after: got -1s, want more than 0`},
		{"limits: {timeout: -1s}", nil, `limits.timeout: got -1s, want more than 0`},
		{"limits: {timeout: 999999h}", nil, `limits.timeout: got 999999h, want more than 0 and at most`},
		{"limits: {memory: 0}", nil, `limits.memory: got 0, want a size`},
		{"limits: {memory: lots}", nil, `limits.memory: got lots, want a size`},
		{"limits: {memory: 99EB}", nil, `limits.memory: got 99EB, want a size`},
		{"limits: {coroutines: 1.5}", nil, `limits.coroutines: got 1.5, want a whole number`},
		{"limits: {coroutines: [1]}", nil, `limits.coroutines: want a single value`},
		{"limits: 5", nil, `tidelock.yaml:1: limits: want keys below it, got 5`},
		{"db: {table: 5}", nil, `db.table: got 5, want a text`},
		{"http: {allow: {a: b}}", nil, `http.allow: want a list`},
		{"lambda: {embedded_db: maybe}", nil, `lambda.embedded_db: got maybe, want true or false`},
		{"lock: {guard_ms: 999}", nil, `tidelock.yaml:1: lock.guard_ms: got 999, want 1000 or more`},
		{"db: {table: t, file: f}", nil, `db.file: excludes db.table`},
		{"http: {allow: ['a b']}", nil, `http.allow: `},
		{"tenants: {a: {http: {allow: ['10.0.0.0/8']}}}", nil, `tenants.a.http.allow: `},
		{"log: {level: loud}", nil, `log.level: got "loud", want one of debug`},
		{"sql: {orders: {driver: oracle}}", nil, `sql.orders.driver: got "oracle", want one of postgres`},
		{"tenants: {Acme: {}}", nil, `tenants.Acme: tenant id "Acme": want`},
		{"tenants:\n  acme: {}\n  acme: {}", nil, `acme`},
		{"a: b: c", nil, `tidelock.yaml:`},
		{"db: {}\n---\ndb: {}", nil, `want one document, got 2`},
		{"- a", nil, `tidelock.yaml`},
	} {
		_, err := load(t, test.text, test.environ)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q %v: got %v, want %q", test.text, test.environ, err, test.want)
		}
	}
}

func TestLoadReportsAllErrors(t *testing.T) {
	_, err := load(t, "db: {tabel: x}\nlimits: {timeout: 5}", nil)
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two lines", err)
	}
}

func TestSecretIsAReferenceAndNeverShown(t *testing.T) {
	const password = `pa ss%@^"'`
	_, err := load(t, "sql: {orders: {driver: postgres, password: '"+strings.ReplaceAll(password, "'", "''")+"'}}", nil)
	if err == nil || strings.Contains(err.Error(), "pa ss") || !strings.Contains(err.Error(), "env:NAME") {
		t.Errorf("got %v, want an error without the password", err)
	}
	c, err := load(t, "sql: {a: {driver: postgres, password: 'env:TEST_PASSWORD'}, b: {driver: mysql, password: 'file:secret'}, c: {driver: mysql, password: 'env:TEST_MISSING'}}", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_PASSWORD", password)
	if err := os.WriteFile("secret", []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if got, err := c.SQL[name].Password.Resolve(); got != password || err != nil {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, password)
		}
	}
	if _, err := c.SQL["c"].Password.Resolve(); err == nil {
		t.Error("a secret that isn't there is no error")
	}
	if got := fmt.Sprint(c.Values()); strings.Contains(got, "pa ss") || !strings.Contains(got, "env:TEST_PASSWORD") {
		t.Errorf("got %s, want references and no secret", got)
	}
}

func TestValuesHaveTheirOrigin(t *testing.T) {
	c, err := load(t, "db:\n  table: t", []string{"TIDELOCK_LIMITS__MEMORY=1GiB"}, Flag{"db.region", "--db-region", "r"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Value{}
	for _, v := range c.Values() {
		got[v.Key] = v
	}
	for _, want := range []Value{
		{"db.table", "t", "tidelock.yaml:2"}, {"limits.memory", "1024MiB", "TIDELOCK_LIMITS__MEMORY"},
		{"db.region", "r", "--db-region"}, {"limits.timeout", "30s", "default"},
	} {
		if got[want.Key] != want {
			t.Errorf("got %+v, want %+v", got[want.Key], want)
		}
	}
	if _, ok := got["db.file"]; ok {
		t.Error("a file is shown beside a table")
	}
}

func TestTenantPartCountsMoreThanTheGeneralOne(t *testing.T) {
	c, err := load(t, `
limits: {timeout: 10s, memory: 64MiB}
http: {allow: [all.example.com]}
sql: {orders: {driver: postgres, host: a}, logs: {driver: mysql}}
tenants:
  acme:
    scripts: scripts/acme
    shared: [lib]
    limits: {timeout: 1m}
    http: {allow: []}
    sql: {orders: {driver: postgres, host: b}}
  other: {}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := c.TenantLimits("acme"); l.Timeout != time.Minute || l.MemoryBytes != 64<<20 || l.DataOps != 100_000 {
		t.Errorf("limits: got %+v", l)
	}
	if got := c.Allow("acme"); len(got) != 0 {
		t.Errorf("acme may reach %v, want nothing", got)
	}
	if got := c.Allow("other"); len(got) != 1 {
		t.Errorf("other may reach %v, want what all may", got)
	}
	if got := c.Connections("acme"); got["orders"].Host != "b" || got["logs"].Driver != "mysql" {
		t.Errorf("connections: got %+v", got)
	}
	if got := c.Connections("other"); got["orders"].Host != "a" {
		t.Errorf("connections: got %+v", got)
	}
	if _, err := c.Directory(); err == nil || !strings.Contains(err.Error(), "acme") {
		t.Errorf("got %v, want an error about a folder that is not there", err)
	}
	for _, folder := range []string{"scripts/acme", "lib"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("scripts/acme/import.lua", []byte("return 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../tidelock.yaml", "scripts/acme/link.lua"); err != nil {
		t.Fatal(err)
	}
	d, err := c.Directory()
	if err != nil {
		t.Fatal(err)
	}
	inv, failed := d.Resolve("acme", "import", nil)
	if failed != nil || inv.Limits.Timeout != time.Minute || len(inv.Scripts) != 2 {
		t.Errorf("got %+v, %v", inv, failed)
	}
	if _, failed := d.Resolve("acme", "link", nil); failed == nil {
		t.Error("a link leads out of a tenant's folder")
	}
}

func TestLoadPathsAreRelativeToTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("etc", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("etc/other.yaml", []byte("db: {file: a.db}\ntenants: {acme: {scripts: ./s, shared: [x, /abs]}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{File: "etc/other.yaml"}, {Environ: []string{"TIDELOCK_CONFIG=etc/other.yaml"}}} {
		c, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		acme := c.Tenants["acme"]
		if c.DB.File != filepath.Join("etc", "a.db") || acme.Scripts != filepath.Join("etc", "s") ||
			acme.Shared[0] != filepath.Join("etc", "x") || acme.Shared[1] != "/abs" {
			t.Errorf("got %q, %q, %q", c.DB.File, acme.Scripts, acme.Shared)
		}
	}
	if c, err := Load(Options{File: "etc/other.yaml", Flags: []Flag{{"db.file", "--db", "b.db"}}}); err != nil || c.DB.File != "b.db" {
		t.Errorf("got %v, %v; want a flag's path as it is", c, err)
	}
	if _, err := Load(Options{File: "missing.yaml"}); err == nil {
		t.Error("a file that is named but missing is no error")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("db: {table: t}\nlimits: {memory: 1GiB}")
	f.Add("tenants: {a: {tokens: [x]}}")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parse("fuzz.yaml", []byte(text))
		if err != nil {
			return
		}
		d := newDecoder()
		d.check(l)
	})
}

func TestThresholdOfZeroDisables(t *testing.T) {
	c, err := load(t, "task: {protect_after: 0}", nil)
	if err != nil || c.Task.ProtectAfter != 0 {
		t.Errorf("got %v, %v, want 0", c, err)
	}
}
