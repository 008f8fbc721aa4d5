package wire

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// newMemoryWatcher makes the guard of this process's memory. Unless GOMEMLIMIT says
// otherwise, Go's soft limit is nine tenths of the function's or container's: the
// rest is for what Go doesn't count. Scripts together may hold two thirds of the soft limit
// after a garbage collection, because there is garbage besides. A process
// without any limit ends no run for its own sake.
func newMemoryWatcher() *vm.MemoryWatcher {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		container := functionMemory(os.Getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"))
		if container == 0 {
			container = containerMemory(os.DirFS("/sys/fs/cgroup"))
		}
		if container == 0 {
			return vm.NewMemoryWatcher(0)
		}
		limit = container / 10 * 9
		debug.SetMemoryLimit(limit)
	}
	return vm.NewMemoryWatcher(limit / 3 * 2)
}

// functionMemory returns the memory of a function of AWS Lambda in bytes, 0 for
// none, from the megabytes that its environment says.
func functionMemory(megabytes string) int64 {
	n, err := strconv.ParseInt(megabytes, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return n << 20
}

// containerMemory returns the memory limit of the container in bytes, 0 for
// none. root is where the control groups are mounted, of version 2 or 1.
func containerMemory(root fs.FS) int64 {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		// Version 2 says "max" where there is no limit, version 1 a number that
		// no machine has.
		if err == nil && limit < 1<<50 {
			return limit
		}
	}
	return 0
}
