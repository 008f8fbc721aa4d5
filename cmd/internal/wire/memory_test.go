package wire

import (
	"testing"
	"testing/fstest"
)

func TestTheContainersMemoryLimitIsFound(t *testing.T) {
	const v1, v2 = "memory/memory.limit_in_bytes", "memory.max"
	for _, test := range []struct {
		name, file, text string
		want             int64
	}{
		{"version 2", v2, "536870912\n", 512 << 20},
		{"version 2 without a limit", v2, "max\n", 0},
		{"version 1", v1, "1073741824\n", 1 << 30},
		{"version 1 without a limit", v1, "9223372036854771712\n", 0},
		{"no control groups", "other", "", 0},
	} {
		got := containerMemory(fstest.MapFS{test.file: {Data: []byte(test.text)}})
		if got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestAFunctionsMemoryIsFound(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "128": 128 << 20, "10240": 10 << 30, "-1": 0, "lots": 0} {
		if got := functionMemory(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
