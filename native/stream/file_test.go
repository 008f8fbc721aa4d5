package stream_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
)

func TestFileThatShrinksIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(path, []byte(strings.Repeat("line\n", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		size  int64 // after some of it has been read
		whole bool
	}{{100_000, false}, {0, false}, {500_000, true}, {600_000, true}} {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		source, err := stream.FromFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 1000)
		if _, err := source.Read(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, test.size); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = source.Read(context.Background(), p)
		}
		known, isKnown := err.(*outcome.Error)
		if test.whole && err != io.EOF || !test.whole && (!isKnown || known.Code != stream.CodeFailed) {
			t.Errorf("cut to %d: got %v", test.size, err)
		}
		if err := os.Truncate(path, 500_000); err != nil {
			t.Fatal(err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
}
