package stream_test

import (
	"context"
	"io"
	"testing"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
)

func codeOf(err error) string {
	if known, ok := err.(*outcome.Error); ok {
		return known.Code
	}
	return ""
}

func TestSetBoundsWhatIsOpenedByName(t *testing.T) {
	empty := func() (stream.Source, error) {
		return sourceFunc(func(context.Context, []byte) (int, error) { return 0, io.EOF }), nil
	}
	offered := stream.Streams{Inputs: map[string]func() (stream.Source, error){"empty": empty}}
	set := stream.NewSet()
	defer set.Close()
	var last *stream.Stream
	for opened := 0; ; opened++ {
		s, err := set.Open(offered, "empty")
		if err == nil {
			last = s
			continue
		}
		if codeOf(err) != stream.CodeBusy || opened != 100 {
			t.Fatalf("got %v with %d streams open", err, opened)
		}
		break
	}
	last.Close()
	if _, err := set.Open(offered, "empty"); err != nil {
		t.Errorf("got %v after one was closed", err)
	}
	if _, err := set.Open(offered, "unknown"); codeOf(err) != stream.CodeUnknown {
		t.Errorf("got %v for an unknown name", err)
	}
	if _, err := set.Create(offered, "empty"); codeOf(err) != stream.CodeUnknown {
		t.Errorf("got %v for an output that isn't offered", err)
	}
	set.Close()
	if _, err := set.Open(offered, "empty"); err != nil {
		t.Errorf("got %v after all were closed", err)
	}
}
