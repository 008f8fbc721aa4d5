package wire

import (
	"errors"
	"math"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

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
