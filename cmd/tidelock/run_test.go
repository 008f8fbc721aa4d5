package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// execute runs a command in the current folder and returns what it printed.
func execute(t *testing.T, args ...string) (printed string, err error) {
	t.Helper()
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err = root.Execute()
	return strings.TrimSpace(out.String()), err
}

// inFolderOf makes a folder of files the current one.
func inFolderOf(t *testing.T, files map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
}

func TestRunFindsModulesAsTheHostsDo(t *testing.T) {
	inFolderOf(t, map[string]string{
		"tidelock.yaml":      "tenants:\n  acme:\n    scripts: ./acme\n    shared: [./lib]\n",
		"acme/jobs/a.lua":    `return { require("util"), require("jobs.part"), require("common") }`,
		"acme/jobs/b.lua":    `return (pcall(require, "part"))`,
		"acme/jobs/part.lua": `return "jobs/part"`,
		"acme/util.lua":      `return "util"`,
		"lib/common.lua":     `return "common"`,
		"lib/util.lua":       `return "not this one"`,
		"try/c.lua":          `return { require("beside"), require("util"), require("common") }`,
		"try/beside.lua":     `return "beside"`,
	})
	for _, test := range []struct{ script, tenant, want string }{
		{"acme/jobs/a.lua", "acme", `["util","jobs/part","common"]`},
		{"./acme/jobs/../jobs/a.lua", "acme", `["util","jobs/part","common"]`},
		{"acme/jobs/b.lua", "acme", `false`},
		{"try/c.lua", "acme", `["beside","util","common"]`},
		{"acme/jobs/b.lua", "dev", `true`}, // beside the script
	} {
		if got, err := execute(t, "run", test.script, "--tenant", test.tenant); got != test.want || err != nil {
			t.Errorf("%s of %s: got %s, %v, want %s", test.script, test.tenant, got, err, test.want)
		}
	}
}

func TestDatabaseInMemoryLastsAsLongAsTheRun(t *testing.T) {
	inFolderOf(t, map[string]string{"a.lua": `
		local p = native.db.open("p")
		local n = p:add("n", 1)
		assert(native.lock.with("l", function() end))
		return n`})
	for range 2 {
		if got, err := execute(t, "run", "a.lua", "--db", ":memory:"); got != "1" || err != nil {
			t.Errorf("got %s, %v, want 1", got, err)
		}
	}
	if files, _ := os.ReadDir("."); len(files) != 1 {
		t.Errorf("there are %d files, want the script alone", len(files))
	}
	if _, err := execute(t, "task", "batch", "--db", ":memory:", "/dev/null"); err == nil {
		t.Error("a server runs on a database that it loses")
	}
}
