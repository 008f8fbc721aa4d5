// Package sqlite lets native.sql open files of SQLite, which is compiled to Go.
//
// A script can reach nothing but its file: attaching others, settings that
// outlive the statement and whatever loads code are refused when the statement
// is compiled.
package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// busyTime is how long a statement waits for others that use the file.
const busyTime = 5 * time.Second

// New returns the driver.
func New() sql.Driver { return sqliteDriver{} }

type sqliteDriver struct{}

// connection is what the driver's connections can do.
type connection interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
	sqlite.AuthorizerRegisterer
}

// Connect opens the file.
func (sqliteDriver) Connect(ctx context.Context, t sql.Target) (sql.Session, error) {
	mode, journal := "rwc", "&_journal_mode=WAL" // a loop doesn't keep writers out
	if t.ReadOnly {
		mode, journal = "ro", ""
	}
	path := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(t.File)
	connector, err := sqlite.NewConnector(fmt.Sprintf(
		"file:%s?mode=%s%s&_busy_timeout=%d&_foreign_keys=1&_dqs=0&_defensive=1&_error_rc=1", path, mode, journal, busyTime.Milliseconds()))
	if err != nil {
		return nil, err
	}
	opened, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(connection)
	handle := handleOf(opened)
	if !ok || handle == 0 {
		return nil, errors.Join(errors.New("the driver has changed"), opened.Close())
	}
	s := &session{conn: conn, handle: handle}
	s.life, s.end = context.WithCancel(context.Background())
	tls := libc.NewTLS()
	defer tls.Close()
	for id, most := range map[int32]int32{
		sqlite3.SQLITE_LIMIT_LENGTH:         int32(t.ValueBytesMax),
		sqlite3.SQLITE_LIMIT_ATTACHED:       0,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
	} {
		sqlite3.Xsqlite3_limit(tls, handle, id, most)
	}
	if err := conn.RegisterAuthorizer(s.authorize); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// handleOf reads the handle of the C interface from a connection of the driver,
// 0 if it isn't there. Without it a statement can't be interrupted once it has
// returned its first row.
func handleOf(conn driver.Conn) uintptr {
	v := reflect.ValueOf(conn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return 0
	}
	field := v.Elem().FieldByName("db")
	if field.Kind() != reflect.Uintptr {
		return 0
	}
	return uintptr(field.Uint())
}

// Classify says what an error means. There is no network: whatever fails was
// refused, and undone.
func (sqliteDriver) Classify(err error) sql.Failure {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		if errors.Is(err, context.Canceled) {
			return sql.Failure{Kind: sql.Refused, Message: "interrupted"}
		}
		return sql.Failure{Kind: sql.Refused, Message: err.Error()}
	}
	return sql.Failure{Kind: kind(e.Code()), Message: e.Error()}
}

func kind(code int) sql.Kind {
	switch code {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return sql.Unique
	case sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_BUSY_RECOVERY:
		return sql.Conflict
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return sql.Busy
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_PERM:
		return sql.Denied
	}
	return sql.Refused
}

// session is an open file.
type session struct {
	conn   connection
	life   context.Context // of all its statements
	end    context.CancelFunc
	dirty  bool // a temporary table was made
	own    atomic.Bool
	inside bool // a transaction is open
	only   bool // it only reads
	open   *rows

	mu     sync.Mutex // guards handle against being closed while it is used
	handle uintptr
}

// Query sends a statement.
func (s *session) Query(text string, params []any) (sql.Rows, error) {
	if err := s.admit(text, params); err != nil {
		return nil, err
	}
	answer, err := s.conn.QueryContext(s.life, text, named(params))
	if err != nil {
		return nil, err
	}
	s.open = newRows(answer)
	return s.open, nil
}

// Exec sends a statement and drops its rows.
func (s *session) Exec(text string, params []any) (sql.Result, error) {
	if err := s.admit(text, params); err != nil {
		return sql.Result{}, err
	}
	before := s.changes()
	r, err := s.conn.ExecContext(s.life, text, named(params))
	if err != nil {
		return sql.Result{}, err
	}
	if r == nil {
		return sql.Result{}, errors.New("there is no statement")
	}
	var out sql.Result
	if s.changes() == before {
		return out, nil // what the file tells is of an earlier statement
	}
	switch sql.Verb(text) {
	case "insert", "replace":
		if out.LastID, err = r.LastInsertId(); err != nil {
			return out, err
		}
		fallthrough
	case "update", "delete", "with":
		out.Affected, err = r.RowsAffected()
	}
	return out, err
}

// changes is how many rows the session has ever changed.
func (s *session) changes() int32 {
	tls := libc.NewTLS()
	defer tls.Close()
	return sqlite3.Xsqlite3_total_changes(tls, s.handle)
}

// admit refuses several statements in one, another number of values than there
// are placeholders, and what comes after a transaction that is over.
func (s *session) admit(text string, params []any) error {
	n, err := placeholders(text)
	if err != nil {
		return err
	}
	if n != len(params) {
		return fmt.Errorf("the statement has %d placeholders, and %d values were given", n, len(params))
	}
	if s.inside && s.autocommit() {
		return errUndone
	}
	return nil
}

// errUndone: a conflict or a trigger has rolled the transaction back. Each
// statement after it would be on its own.
var errUndone = errors.New("the transaction was rolled back")

func named(params []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(params))
	for i, p := range params {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: value(p)}
	}
	return values
}

// command sends one of our own statements.
func (s *session) command(text string) error {
	s.own.Store(true)
	defer s.own.Store(false)
	_, err := s.conn.ExecContext(s.life, text, nil)
	return err
}

// Begin starts a transaction. One that writes takes its place among the writers
// at once: half-way it could find the file changed.
func (s *session) Begin(readOnly bool) error {
	text := "BEGIN IMMEDIATE"
	if readOnly {
		text = "BEGIN"
	}
	if err := s.command(text); err != nil {
		return err
	}
	s.inside, s.only = true, readOnly
	return nil
}

// Commit commits.
func (s *session) Commit() error {
	if s.autocommit() {
		return errUndone
	}
	err := s.command("COMMIT")
	if err == nil {
		s.inside, s.only = false, false
	}
	return err
}

// Rollback undoes the transaction.
func (s *session) Rollback() error {
	s.inside, s.only = false, false
	if s.autocommit() {
		return nil
	}
	s.own.Store(true)
	defer s.own.Store(false)
	// Also when the statements before it were interrupted.
	_, err := s.conn.ExecContext(context.Background(), "ROLLBACK", nil)
	return err
}

func (s *session) autocommit() bool {
	tls := libc.NewTLS()
	defer tls.Close()
	return sqlite3.Xsqlite3_get_autocommit(tls, s.handle) != 0
}

// Reset keeps sessions that nothing was left behind in.
func (s *session) Reset() error {
	if s.dirty || !s.autocommit() {
		return errors.New("something was left behind")
	}
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_set_last_insert_rowid(tls, s.handle, 0)
	return nil
}

// Ping does nothing: a file is there.
func (s *session) Ping() error { return nil }

// Cancel interrupts the statement.
func (s *session) Cancel(context.Context) { s.Break() }

// Break interrupts the statement.
func (s *session) Break() {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != 0 {
		tls := libc.NewTLS() // that of the statement belongs to its goroutine
		defer tls.Close()
		sqlite3.Xsqlite3_interrupt(tls, s.handle)
	}
}

// Close closes the file.
func (s *session) Close(context.Context, bool) {
	s.end()
	if s.open != nil {
		_ = s.open.close() // a file with an open statement would stay open
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = 0
	_ = s.conn.Close() // an open transaction is undone
}

// rows are the rows of a statement.
type rows struct {
	answer driver.Rows
	kinds  []string
	values []driver.Value
	closed bool
}

func newRows(answer driver.Rows) *rows {
	r := &rows{answer: answer, values: make([]driver.Value, len(answer.Columns()))}
	types, _ := answer.(driver.RowsColumnTypeDatabaseTypeName)
	for i := range r.values {
		kind := ""
		if types != nil {
			kind = types.ColumnTypeDatabaseTypeName(i)
		}
		r.kinds = append(r.kinds, kind)
	}
	return r
}

// Columns are the names of the columns.
func (r *rows) Columns() []string { return r.answer.Columns() }

// Next fills row with the next one.
func (r *rows) Next(row []sql.Value) error {
	if err := r.answer.Next(r.values); err != nil {
		if closing := r.close(); errors.Is(err, io.EOF) && closing != nil {
			err = closing
		}
		return err
	}
	for i, v := range r.values {
		row[i] = fromColumn(r.kinds[i], v)
	}
	return nil
}

func (r *rows) close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return r.answer.Close()
}

// fromColumn makes a value of what a column of some declared type has.
func fromColumn(kind string, v driver.Value) sql.Value {
	switch v := v.(type) {
	case nil:
		return sql.Value{}
	case int64:
		if kind == "BOOLEAN" && (v == 0 || v == 1) {
			return sql.Bool(v == 1)
		}
		return sql.Integer(v)
	case float64:
		return sql.Number(v)
	case []byte:
		return sql.Text(string(v))
	case string:
		return sql.Text(v)
	case time.Time:
		if kind == "DATE" && v.Equal(v.Truncate(24*time.Hour)) {
			return sql.Text(v.Format(time.DateOnly))
		}
		return sql.Text(v.UTC().Format(time.RFC3339Nano))
	}
	return sql.Text(fmt.Sprint(v))
}
