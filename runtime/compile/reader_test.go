package compile

import (
	"context"
	"io"
	"strings"
	"testing"
)

func TestYieldingReaderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	source := strings.Repeat("x = 1 ", 20_000)
	all, err := io.ReadAll(&yieldingReader{ctx: ctx, rest: source})
	if string(all) != source || err != nil {
		t.Errorf("got %d bytes, %v, want %d", len(all), err, len(source))
	}
	cancel()
	if rest, err := io.ReadAll(&yieldingReader{ctx: ctx, rest: source}); len(rest) > 0 || err != nil {
		t.Errorf("got %d bytes, %v, after the end", len(rest), err)
	}
	// A source that was cut off isn't taken for a complete or a wrong one.
	for _, source := range []string{source, "x = "} {
		if _, _, err := New(Limits{}).translate(ctx, "test", source); err != context.Canceled {
			t.Errorf("got %v", err)
		}
	}
}
