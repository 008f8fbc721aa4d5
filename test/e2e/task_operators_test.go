package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A task that can't do its work ends at once with exit code 2, and says why and
// what to do.
func TestTaskThatCanNotWorkDoesNotStart(t *testing.T) {
	const acme = "tenants: {acme: {scripts: scripts}}\n"
	for _, test := range []struct {
		name, config string
		args, want   []string
	}{
		{"no tenants", "task: {}\n", nil, []string{"tenants: there is none"}},
		{"no folder for the file", acme, []string{"--db", "missing/t.db"}, []string{`the database file "missing/t.db" can't be used`, "unable to open", "Check that the folder"}},
		{"no table", acme, []string{"--db-table", "t", "--db-region", "eu-west-1", "--db-endpoint", "http://127.0.0.1:1"},
			[]string{`the table "t" at http://127.0.0.1:1 can't be used`, "connection refused", "Check db.table"}},
		{"no address", acme + "task: {internal_listen: '192.0.2.1:80'}\n", []string{"--listen", "192.0.2.1:80"}, []string{"task.listen: ", "--listen to another address"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o700); err != nil {
				t.Fatal(err)
			}
			h := prepareTask(t, fast, dir, test.config, test.args...)
			h.run()
			h.exit(2)
			for _, want := range test.want {
				if !strings.Contains(h.log(), want) {
					t.Errorf("the log lacks %q:\n%s", want, h.log())
				}
			}
		})
	}
}

func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A configuration is replaced while a task serves, all of it or nothing, and a
// folder of scripts is followed.
func TestTaskReloads(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, folder+"/job.lua", `return "`+folder+`"`)
	}
	current := filepath.Join(dir, "current")
	if err := os.Symlink("one", current); err != nil {
		t.Fatal(err)
	}
	good := "task: {operator_tokens: ['ops=" + hashed("o") + "']}\ntenants:\n  acme: {scripts: current, tokens: ['ci=" + hashed("a") + "']}\n"
	h := serveTask(t, fast, dir, good)
	ops, ci := []string{"Authorization", "Bearer o"}, []string{"Authorization", "Bearer a"}
	job := func(id string) taskReply {
		t.Helper()
		r, err := h.invoke(id, "job", "", ops...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := job("acme"); r.value != "one" {
		t.Errorf("got %s", r.body)
	}
	next := filepath.Join(dir, "next")
	if err := errors.Join(os.Symlink("two", next), os.Rename(next, current)); err != nil {
		t.Fatal(err)
	}
	if r := job("acme"); r.value != "two" {
		t.Errorf("after the link was switched: got %s", r.body)
	}
	if r := job("beta"); r.kind != "Tenant.Unknown" {
		t.Errorf("got %s", r.body)
	}
	write(t, dir, "tidelock.yaml", good+"  beta: {skripts: two}\n")
	if r := h.must("POST", "/v1/reload", "", ops...); r.status != 422 || !strings.Contains(r.body, `tidelock.yaml:4: tenants.beta.skripts: unknown key`) {
		t.Errorf("a mistake: got %d %s", r.status, r.body)
	}
	write(t, dir, "tidelock.yaml", good+"  beta: {scripts: two}\nlock: {guard_ms: 3000}\n")
	if r := h.must("POST", "/v1/reload", "", ops...); r.status != 422 || !strings.Contains(r.body, `tidelock.yaml:5: lock.guard_ms: can't be changed without a restart`) {
		t.Errorf("what needs a restart: got %d %s", r.status, r.body)
	}
	if r := job("beta"); r.kind != "Tenant.Unknown" {
		t.Errorf("half a configuration counts: %s", r.body)
	}
	write(t, dir, "tidelock.yaml", good+"  beta: {scripts: two}\n")
	if r := h.must("POST", "/v1/reload", "", ci...); r.status != 403 {
		t.Errorf("a tenant's reload: got %d %s", r.status, r.body)
	}
	if err := h.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "beta", func() bool { return job("beta").value == "two" })
	if err := os.Remove(filepath.Join(dir, "tidelock.yaml")); err != nil {
		t.Fatal(err)
	}
	if r := h.must("POST", "/v1/reload", "", ops...); r.status != 422 || !strings.Contains(r.body, `tidelock.yaml: no such file`) {
		t.Errorf("the file is gone: got %d %s", r.status, r.body)
	}
	if r := h.must("POST", "/v1/tenants/acme/scripts/job/invocations", ""); r.status != 401 {
		t.Errorf("its tokens are gone with it: got %d %s", r.status, r.body)
	}
	for _, want := range []string{
		`"logger":"audit","message":"audit","act":"configuration.reload","done":false,"caller":"ops","role":"operator","from":"127.0.0.1:`,
		`"logger":"audit","message":"audit","act":"configuration.reload","done":true,"caller":"SIGHUP"`,
		`"errors":["tidelock.yaml:4: tenants.beta.skripts: unknown key`,
		`"caller":"ops"`,
	} {
		eventually(t, want, func() bool { return strings.Contains(h.log(), want) })
	}
	if slices.ContainsFunc([]string{"Bearer", hashed("o")}, func(s string) bool { return strings.Contains(h.log(), s) }) {
		t.Error("a token is in the log")
	}
	if err := h.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	h.exit(0)
}
