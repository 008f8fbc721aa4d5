package runtime

import (
	"io/fs"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Invocation is one request to run a script.
type Invocation struct {
	// ID is unique. The default is a new one, which sorts by time; see [NewID].
	ID     string
	Tenant tenant.ID
	// Script is the script's name, as it appears in errors and logs.
	Script string
	// Source is the script itself.
	Source string
	// Event is what the script is called with: a tree of native's value types,
	// nil for none.
	Event any
	// Limits bound the run; zero fields stand for their defaults.
	Limits tenant.Limits
	// Scripts are the roots that require searches, the tenant's own first.
	Scripts []fs.FS
	// Log receives what the run logs. Required.
	Log native.Logger
	// HostEnd is when the host itself ends, by ElapsedMax of the engine's clock,
	// so that locks are released before. The default 0 means never. It doesn't
	// end the run: see Limits.Timeout.
	HostEnd time.Duration
	// Encode turns what the script returned, nil for nothing, into the bytes that
	// leave the host, at most max. The default is one line of JSON.
	Encode func(value any, max int64) ([]byte, *Error)
}
