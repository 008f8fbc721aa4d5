package wire

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// newMemoryWatcher returns the watcher of this process's memory. Unless
// GOMEMLIMIT is set, Go's soft limit becomes nine tenths of the memory of the
// function or container: the rest is for what Go doesn't count. Scripts together
// may hold two thirds of the soft limit after a garbage collection, because
// there is garbage besides. In a process without any limit the watcher evicts no
// run.
func newMemoryWatcher() *vm.MemoryWatcher {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		available := availableMemory(os.Getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), memlimit.FromCgroup)
		if available == 0 {
			return vm.NewMemoryWatcher(0)
		}
		limit = available / 10 * 9
		debug.SetMemoryLimit(limit)
	}
	return vm.NewMemoryWatcher(limit / 3 * 2)
}

// availableMemory returns the memory in bytes of the function of AWS Lambda,
// from the megabytes in its environment, or else the limit of the control group;
// 0 is no limit.
func availableMemory(megabytes string, controlGroup memlimit.Provider) int64 {
	if n, err := strconv.ParseInt(megabytes, 10, 32); err == nil && n > 0 {
		return n << 20
	}
	limit, err := controlGroup()
	if err != nil || limit >= 1<<50 { // more than any machine has
		return 0
	}
	return int64(limit)
}
