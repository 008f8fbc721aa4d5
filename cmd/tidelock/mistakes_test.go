package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what tidelock prints now into testdata/mistakes.txtar")

// mistakesFile has for each mistake of an author a script, NAME.lua, whose first
// line may be a comment with flags for tidelock run, and what is printed, NAME.txt.
// Its other files lie beside the scripts.
const mistakesFile = "testdata/mistakes.txtar"

func TestMistakesHaveMessagesThatSayWhatToDo(t *testing.T) {
	archive, err := txtar.ParseFile(mistakesFile)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	printed := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".txt"); ok {
			printed[name] = string(f.Data)
			continue
		}
		path := filepath.Join(folder, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.Data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	written := &txtar.Archive{Comment: archive.Comment}
	mistakes := 0
	for _, f := range archive.Files {
		name, isScript := strings.CutSuffix(f.Name, ".lua")
		if strings.HasSuffix(f.Name, ".txt") {
			continue
		}
		written.Files = append(written.Files, f)
		if !isScript || strings.Contains(name, "/") {
			continue
		}
		mistakes++
		t.Run(name, func(t *testing.T) {
			got := printedBy(t, f.Name, string(f.Data))
			if got != printed[name] && !*update {
				t.Errorf("got\n%s\nwant\n%s", got, printed[name])
			}
			if !strings.Contains(got, "  at ") && !strings.HasPrefix(got, "Event.Invalid") {
				t.Errorf("the message doesn't say where:\n%s", got)
			}
			written.Files = append(written.Files, txtar.File{Name: name + ".txt", Data: []byte(got)})
		})
	}
	if mistakes < 50 {
		t.Errorf("%d mistakes, want 50", mistakes)
	}
	if *update {
		t.Chdir(archiveFolder)
		if err := os.WriteFile(mistakesFile, txtar.Format(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// archiveFolder is where the test began.
var archiveFolder, _ = os.Getwd()

// flagsLine is a first line with flags.
var flagsLine = regexp.MustCompile(`^-- tidelock run (.*)\n`)

// printedBy returns what tidelock prints when it runs a script.
func printedBy(t *testing.T, name, script string) string {
	t.Helper()
	args := []string{"run", name, "--db", ":memory:"}
	if m := flagsLine.FindStringSubmatch(script); m != nil {
		args = append(args, strings.Fields(m[1])...)
	}
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	var exit exitCode
	if err := root.Execute(); !errors.As(err, &exit) || exit == 0 {
		t.Errorf("the script has not failed: %v\n%s", err, &out)
	}
	return out.String()
}
