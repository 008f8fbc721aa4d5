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
	// Classify says what an error of Connect or of a session means.
	Classify(err error) Failure
}

// Target is what a session is opened with.
type Target struct {
	Connection
	// Secret is the password; "" for none.
	Secret Secret
	// Dial connects to the server's network address. The connection is the
	// session's until Connect returns; what is dialled later is for cancelling,
	// and is cut after a short while.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ValueBytesMax is the largest value that a session may return, in bytes.
	ValueBytesMax int
}

// TLSConfig is how the connection is encrypted, nil for not at all.
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

// Session is a connection to a server that has let us in. It is used by one
// goroutine at a time; Cancel and Break may be called by others meanwhile.
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
	// Rollback undoes the transaction.
	Rollback() error
	// Reset makes the session as good as new. After an error it is closed.
	Reset() error
	// Ping says whether the server still answers.
	Ping() error
	// Cancel asks the server, over another connection, to stop what the session
	// does. It returns when it has been asked, or when ctx is done.
	Cancel(ctx context.Context)
	// Break makes the call that is under way return. Only Close may follow.
	Break()
	// Close ends the session, and stops what the server still does for it if it
	// is busy. It returns soon after ctx is done.
	Close(ctx context.Context, busy bool)
}

// Rows are the rows of a statement. They belong to their session, which can't
// be used before they have been read to their end.
type Rows interface {
	// Columns are the names of the columns.
	Columns() []string
	// Next fills row, whose values are NULL and as many as there are columns,
	// or returns io.EOF when the statement has ended well.
	Next(row []Value) error
}

// Result is what became of a statement.
type Result struct {
	// Affected is how many rows the statement inserted, deleted or matched.
	Affected int64
	// LastID is the number that the server gave to the first row inserted; 0
	// for none.
	LastID int64
}

// Kind is a kind of trouble.
type Kind int

const (
	// NoResponse: the connection failed, or what came over it was no answer.
	NoResponse Kind = iota
	// Refused: the server has answered that it didn't do it.
	Refused
	// Conflict: refused, because of another transaction; the same may succeed.
	Conflict
	// Unique: refused, because a row with this key is there.
	Unique
	// Busy: refused, because a lock wasn't had within the server's own time.
	Busy
	// Unavailable: the server doesn't serve now, or has just ended the session.
	Unavailable
	// Denied: the server doesn't let us in.
	Denied
)

// Failure is what an error means.
type Failure struct {
	Kind Kind
	// State is the SQLSTATE, "" where there is none.
	State string
	// Message is the server's; "" for a NoResponse.
	Message string
}
