package runtime

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// crockford is Crockford's base 32: its digits sort by value, and none looks like
// another.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// NewID returns the id of an invocation: 26 letters that sort by time, of which
// 48 bits are milliseconds and 80 bits random. The source is cryptographic: a
// seed from the start of the process would be shared by clones of a snapshot.
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
