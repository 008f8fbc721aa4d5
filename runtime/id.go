package runtime

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// crockford is Crockford's base 32: in the order of its digits, and none that
// people take for another.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// NewID returns 26 letters that sort by time: 48 bits of milliseconds, then
// 80 random bits. Its source is cryptographic, never a seed from the start of
// the process: snapshots are cloned. It is the id of an invocation.
func NewID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var id [26]byte
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = crockford[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return string(id[:])
}
