package lock

import (
	"context"
	"maps"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// partition is the name of the partition that holds a tenant's locks. No
// script can name it: a partition that a script may open never begins with
// "!".
const partition = "!locks"

// rowRetention is how long after its Until a row may stay in the table before
// the table's own expiry removes it. It only has to be far longer than clocks
// are off; a day also leaves the traces of a crash readable.
const rowRetention = 24 * time.Hour

// Key addresses the row of one lock.
type Key struct {
	Tenant tenant.ID
	// Name is the lock's name, which is the row's sort key (attribute "k").
	Name string
}

// Partition returns the partition key of the row (attribute "p"):
// "<tenant>/!locks".
func (k Key) Partition() string { return k.Tenant.Partition(partition) }

// UnixMilli is a moment on the table's clock in milliseconds since 1970. The
// zero UnixMilli stands for "not known".
type UnixMilli int64

// Time returns m as a time in UTC.
func (m UnixMilli) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// ceilUnixMilli and floorUnixMilli round a time to milliseconds: up where a row
// must not run out too soon, down where it must not seem to have run out.
func ceilUnixMilli(t time.Time) UnixMilli {
	m := floorUnixMilli(t)
	if m.Time().Before(t) {
		m++
	}
	return m
}

func floorUnixMilli(t time.Time) UnixMilli { return UnixMilli(t.UnixMilli()) }

// Holder describes the caller that acquired a lock. It is for operators who
// read the table; no decision depends on it. Empty fields are not stored.
type Holder struct {
	HostKind string // "lambda", "task", "cli"; attribute "host_kind" of by
	HostName string // the machine or function; "host_name"
	Process  string // the process on that host; "process"
	Run      string // the run's id; "run"
	Script   string // the script's name; "script"
}

// Attributes returns the fields that are stored, by the names of their attributes.
func (h Holder) Attributes() map[string]string {
	all := map[string]string{
		"host_kind": h.HostKind, "host_name": h.HostName, "process": h.Process, "run": h.Run, "script": h.Script,
	}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// Row is a lock as it is stored. An engine stores the attributes that the
// fields name, and x from [Row.Expiry], and reads them back unchanged. A field
// whose attribute is missing or of another type is read as its zero value.
type Row struct {
	Key             // "p" and "k", strings
	Owner string    // "owner", string: 32 hexadecimal digits, never used twice
	Start UnixMilli // "start", number: the latest moment at which the lease can have begun
	Until UnixMilli // "until", number: from here on the lock is free
	By    Holder    // "by", map of strings
}

// Expiry returns the row's attribute "x": the moment after which the table
// may remove the row by itself, in whole epoch seconds, one day after Until.
func (r Row) Expiry() int64 {
	const second = UnixMilli(time.Second / time.Millisecond)
	return int64((r.Until+second-1)/second) + int64(rowRetention/time.Second)
}

// rowLifetime is for how long a row excludes others: the lease, what a
// machine's oscillator may be off by meanwhile, and the guard.
func rowLifetime(lease, guard time.Duration) UnixMilli {
	lease = ceilMillis(lease)
	return UnixMilli(ceilMillis(lease+lease/driftRatio+guard) / time.Millisecond)
}

func ceilMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Table is what the protocol needs from a store. Each call is exactly one
// attempt: one request, never repeated below this interface, bounded by ctx.
// Conditions are tested and changes made in one atomic step of the store, and
// the row tested is the newest one.
//
// An attempt whose outcome is [outcome.NotApplied] with an [*outcome.Error] that
// is not Retryable (no such table, access denied) ends the call at once; every
// other error is waited out. Implementations are safe for use by many
// goroutines.
type Table interface {
	// PutLock stores row if its key has no row, or one whose Until is at most
	// now. Otherwise the answer is [outcome.Refused] with the blocking row.
	PutLock(ctx context.Context, row Row, now UnixMilli) RowResult

	// DeleteLock removes the row of key if its owner is owner. Otherwise the
	// answer is [outcome.Refused], with the row that is there, if there is one.
	DeleteLock(ctx context.Context, key Key, owner string) RowResult
}

// RowResult is what came back from one attempt on a [Table].
type RowResult struct {
	outcome.Attempt
	// Old is the row that made the condition fail, read in the same step as
	// the condition was tested. It is nil when Outcome is not
	// [outcome.Refused], or when there was no row (a refused DeleteLock).
	Old *Row
}

// Lister is what an operator's tools need beyond [Table].
type Lister interface {
	// ListLocks reads one page of the tenant's rows, also those that have run
	// out, in byte order of their names, starting with the first name after
	// after ("" starts at the beginning). It is one attempt.
	ListLocks(ctx context.Context, id tenant.ID, after string) Page
}

// Page is one page of rows.
type Page struct {
	// Attempt has the outcome [outcome.Applied] when the page was read, else
	// [outcome.NotApplied] with the cause.
	outcome.Attempt
	Rows []Row
	// After is the name to continue with, or "" when this was the last page.
	// A page may be empty while After is set.
	After string
}
