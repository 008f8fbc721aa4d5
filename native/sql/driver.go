package sql

import (
	"context"
	"crypto/tls"
	"net"
)

// Driver talks to servers of one kind. It is safe for use by many goroutines.
type Driver interface {
	// Connect opens a session. It returns soon after ctx is done or what Dial
	// returned has been closed.
	Connect(ctx context.Context, t Target) (Session, error)
	// Classify returns what an error of Connect or of a session means.
	Classify(err error) Failure
}

// Target is what a session is opened with.
type Target struct {
	Connection
	// Secret is the password. "" sends none.
	Secret Secret
	// Dial connects to the server's network address. Until Connect returns, the
	// connection is the session's; later ones are for cancelling, and are cut
	// after a short while.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ValueBytesMax is the largest value that a session may return, in bytes.
	ValueBytesMax int
}

// TLSConfig returns the configuration of TLS, nil if the connection has none.
func (t Target) TLSConfig() *tls.Config {
	if t.TLS == TLSOff || t.overSocket() {
		return nil
	}
	return &tls.Config{ServerName: t.Host, RootCAs: t.RootCAs, MinVersion: tls.VersionTLS12}
}

// Secret is a text that is never printed.
type Secret string

// String returns a mask.
func (Secret) String() string { return "***" }

// GoString returns a mask.
func (Secret) GoString() string { return "***" }

// Session is an authenticated connection to a server. It is used by one goroutine
// at a time; Cancel and Break may be called by others meanwhile.
//
// Parameters are of the types nil, bool, int64, float64 and string.
type Session interface {
	// Query sends one statement and returns its rows.
	Query(text string, params []any) (Rows, error)
	// Exec sends one statement and drops its rows.
	Exec(text string, params []any) (Result, error)
	// Begin starts a transaction. In a read-only one the server refuses writes.
	Begin(readOnly bool) error
	// Commit ends the transaction. An error that [Driver.Classify] knows means
	// that it was rolled back.
	Commit() error
	// Rollback rolls the transaction back.
	Rollback() error
	// Reset clears the state of the session. After an error it is closed.
	Reset() error
	// Ping returns an error unless the server answers.
	Ping() error
	// Cancel asks the server, over another connection, to stop the session's
	// statement. It returns when the request was sent, or when ctx is done.
	Cancel(ctx context.Context)
	// Break makes the call in progress return. Only Close may follow.
	Break()
	// Close ends the session. If busy, it also stops the statement that the server
	// still executes. It returns soon after ctx is done.
	Close(ctx context.Context, busy bool)
}

// Rows are the rows of a statement. They belong to their session, which can't
// be used before they have been read to their end.
type Rows interface {
	// Columns returns the names of the columns.
	Columns() []string
	// Next fills row, which has a NULL for each column, or returns io.EOF when the
	// statement has succeeded.
	Next(row []Value) error
}

// Result is the result of a statement that returns no rows.
type Result struct {
	// Affected is the number of rows that were inserted, deleted or matched.
	Affected int64
	// LastID is the number that the server gave to the first inserted row, 0 if it
	// gave none.
	LastID int64
}

// Kind is a kind of failure.
type Kind int

// Kinds of failures.
const (
	// NoResponse: the connection failed, or what came over it was no response.
	NoResponse Kind = iota
	// Refused: the server has answered that it didn't do it.
	Refused
	// Conflict: refused, because of another transaction; a retry may succeed.
	Conflict
	// Unique: refused, because a row with this key exists.
	Unique
	// Busy: refused, because a lock wasn't free within the server's own time.
	Busy
	// Unavailable: the server doesn't serve now, or has just ended the session.
	Unavailable
	// Denied: the server refuses the user, or the connection.
	Denied
)

// Failure is what an error means.
type Failure struct {
	// Kind decides the code and the outcome of the error.
	Kind Kind
	// State is the SQLSTATE, and Number the server's own one. Zero values stand
	// for none.
	State  string
	Number int
	// Message is what scripts may see of the text of a statement's error: nothing
	// that comes from the [Connection] or from the server's machine, unless the
	// statement contains it. Drivers choose it by the kind of the error, never by
	// a search for such values, which would show a script whether it has guessed
	// one of them. "" if nothing may be shown.
	Message string
	// Reason is a text of the driver that contains no values, of an error of any
	// phase. "" if the driver has none.
	Reason string
}

// Hinted is a driver's error with what may help the author of the statement.
type Hinted struct {
	Err  error
	Hint string
}

func (h *Hinted) Error() string { return h.Err.Error() + " (" + h.Hint + ")" }

// Unwrap returns the error.
func (h *Hinted) Unwrap() error { return h.Err }
