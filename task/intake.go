package task

import (
	"io"
	"sync"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// intake counts the bytes of events that are on their way, so that no tenant
// fills the memory with requests that don't end.
type intake struct {
	max int64 // of one tenant

	mu    sync.Mutex // guards bytes
	bytes map[tenant.ID]int64
}

func newIntake(max int64) *intake { return &intake{max: max, bytes: map[tenant.ID]int64{}} }

// take adds n bytes, unless the tenant has too many then.
func (in *intake) take(id tenant.ID, n int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.bytes[id]+n > in.max {
		return false
	}
	in.bytes[id] += n
	return true
}

func (in *intake) give(id tenant.ID, n int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.bytes[id] -= n; in.bytes[id] == 0 {
		delete(in.bytes, id)
	}
}

// arriving is a body whose bytes are counted until it is left.
type arriving struct {
	io.ReadCloser
	in    *intake
	id    tenant.ID
	taken int64
}

// errTooMuch is a [runtime.Error], for which [errors.As] asks.
var errTooMuch error = runtime.Errorf(runtime.TenantThrottled, "too many bytes of the tenant's events are on their way: try again later")

// Read reads the next bytes. The error is errTooMuch if there is no place for
// them.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 && !a.in.take(a.id, int64(n)) {
		return 0, errTooMuch
	}
	a.taken += int64(n)
	return n, err
}

func (a *arriving) leave() {
	if a.taken > 0 {
		a.in.give(a.id, a.taken)
	}
}
