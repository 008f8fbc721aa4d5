package runtime

import (
	"crypto/rand"
	"time"

	"github.com/oklog/ulid/v2"
)

// NewID returns the id of an invocation that begins now: a ULID, 26 letters and
// digits that sort by time. Its random bits are cryptographic, never from a seed
// of the process, because snapshots of processes are cloned.
func NewID(now time.Time) string {
	return ulid.MustNew(ulid.Timestamp(now), rand.Reader).String()
}
