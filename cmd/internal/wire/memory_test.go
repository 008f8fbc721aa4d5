package wire

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// docs/lambda.md and docs/isolation.md tell the fractions of memory.
func TestMemoryOfAFunction(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1000")
	newMemoryWatcher()
	if got, want := debug.SetMemoryLimit(-1), int64(1000)<<20/10*9; got != want {
		t.Errorf("got a soft limit of %d, want nine tenths: %d", got, want)
	}
	for page, want := range map[string]string{
		"lambda.md":    "Go's soft limit is nine tenths of the function's memory",
		"isolation.md": "else nine tenths of the container's or function's memory",
	} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s doesn't say %q, %v", page, want, err)
		}
	}
}

func TestAvailableMemory(t *testing.T) {
	for _, test := range []struct {
		name, function string
		limit          uint64
		err            error
		want           int64
	}{
		{"a container", "", 512 << 20, nil, 512 << 20},
		{"a container without a limit", "", 0, memlimit.ErrNoLimit, 0},
		{"a limit that no machine has", "", math.MaxInt64 / 4096 * 4096, nil, 0},
		{"no control groups", "", 0, memlimit.ErrNoCgroup, 0},
		{"another system", "", 0, memlimit.ErrCgroupsNotSupported, 0},
		{"control groups that can't be read", "", 0, errors.New("permission denied"), 0},
		{"a small function", "128", 512 << 20, nil, 128 << 20},
		{"a large function", "10240", 0, memlimit.ErrNoLimit, 10 << 30},
		{"a negative size", "-1", 512 << 20, nil, 512 << 20},
		{"no number", "lots", 0, memlimit.ErrNoLimit, 0},
	} {
		if got := availableMemory(test.function, func() (uint64, error) { return test.limit, test.err }); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
