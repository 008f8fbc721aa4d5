package build

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The image is built as the Dockerfile says, so its flags are tried as they stand
// there.
func TestVersionOfTheImage(t *testing.T) {
	text, err := os.ReadFile("../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, flags, ok := strings.Cut(string(text), `ENV LDFLAGS="`)
	flags, _, _ = strings.Cut(flags, "\"\n")
	if !ok || !strings.Contains(string(text), "\nARG VERSION=") || !strings.Contains(flags, "${VERSION}") {
		t.Fatalf("the Dockerfile has no version to pass: %q", flags)
	}
	builds := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "RUN go build ") {
			if builds++; !strings.Contains(line, `-ldflags "$LDFLAGS"`) {
				t.Errorf("a program without a version: %s", line)
			}
		}
	}
	if builds != 2 {
		t.Errorf("%d programs, want 2", builds)
	}
	program := filepath.Join(t.TempDir(), "tidelock")
	compile := exec.Command("go", "build", "-buildvcs=false", "-ldflags", strings.ReplaceAll(flags, "${VERSION}", "v9.8.7-test"), "-o", program, "../../tidelock")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	out, err := exec.Command(program, "version", "--json").Output()
	var got struct{ Version string }
	if err != nil || json.Unmarshal(out, &got) != nil || got.Version != "v9.8.7-test" {
		t.Errorf("got %s, %v", out, err)
	}
}
