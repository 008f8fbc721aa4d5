package api

import (
	"io"
	"sync"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// bytesInFlight counts the bytes of the events that are being received, so that
// no tenant fills the memory with requests that don't end.
type bytesInFlight struct {
	max int64 // of one tenant

	mu      sync.Mutex // guards tenants
	tenants map[tenant.ID]int64
}

func newBytesInFlight(max int64) *bytesInFlight {
	return &bytesInFlight{max: max, tenants: map[tenant.ID]int64{}}
}

// add counts n bytes, unless the tenant would have too many then.
func (b *bytesInFlight) add(id tenant.ID, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tenants[id]+n > b.max {
		return false
	}
	b.tenants[id] += n
	return true
}

func (b *bytesInFlight) remove(id tenant.ID, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tenants[id] -= n; b.tenants[id] == 0 {
		delete(b.tenants, id)
	}
}

// countingReader is a body whose bytes are in flight until release.
type countingReader struct {
	io.ReadCloser
	inFlight *bytesInFlight
	tenant   tenant.ID
	counted  int64
}

// errTooMuch is a [runtime.Error], which [errors.As] finds.
var errTooMuch error = runtime.Errorf(runtime.TenantThrottled, "too many bytes of the tenant's events are on their way: try again later")

// Read reads the next bytes. The error is errTooMuch if the tenant has too many
// in flight.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if n > 0 && !r.inFlight.add(r.tenant, int64(n)) {
		return 0, errTooMuch
	}
	r.counted += int64(n)
	return n, err
}

func (r *countingReader) release() {
	if r.counted > 0 {
		r.inFlight.remove(r.tenant, r.counted)
	}
}
