// Package sqlite is the driver of native.sql for files of SQLite, which is
// compiled to Go.
//
// A script can reach nothing but its file: statements that attach other files,
// change settings or load code are refused when they are compiled.
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

// busyTime is how long a statement waits for a lock on the file.
const busyTime = 5 * time.Second

// New returns the driver.
func New() sql.Driver { return sqliteDriver{} }

type sqliteDriver struct{}

// connection is what connections of the underlying driver implement.
type connection interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
	sqlite.AuthorizerRegisterer
}

// Connect opens the file.
func (sqliteDriver) Connect(ctx context.Context, t sql.Target) (sql.Session, error) {
	mode, journal := "rwc", "&_journal_mode=WAL" // so that a loop doesn't block writers
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
	s.ctx, s.cancel = context.WithCancel(context.Background())
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

// handleOf returns the handle of the C interface of a connection, 0 if the
// underlying driver has changed. Without it a statement can't be interrupted
// once it has returned its first row.
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

// Classify returns what an error means. There is no network: a statement that
// fails was refused, and rolled back.
func (sqliteDriver) Classify(err error) sql.Failure {
	if r, ok := errors.AsType[refused](err); ok {
		return sql.Failure{Kind: sql.Refused, Message: string(r)}
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		if errors.Is(err, context.Canceled) {
			return sql.Failure{Kind: sql.Refused, Reason: "interrupted"}
		}
		return sql.Failure{Kind: sql.Refused} // texts of the underlying driver may name the file
	}
	return sql.Failure{Kind: kind(e.Code()), Message: e.Error(), Reason: reason(e.Code())}
}

// refused is the error of a statement that this driver refuses, not SQLite.
type refused string

func (r refused) Error() string { return string(r) }

// reason returns a text without values for an error of opening the file.
func reason(code int) string {
	switch code & 0xff {
	case sqlite3.SQLITE_CANTOPEN:
		return "the file can't be opened"
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return "the file is no database, or a damaged one"
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH:
		return "the file may not be used this way"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "the file is locked by others"
	case sqlite3.SQLITE_FULL:
		return "the disk is full"
	case sqlite3.SQLITE_IOERR:
		return "the file can't be read or written"
	}
	return ""
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
	conn         connection
	ctx          context.Context // of all its statements
	cancel       context.CancelFunc
	dirty        bool // a temporary table was made
	ownStatement atomic.Bool
	inTx         bool // a transaction is open
	readOnly     bool // the transaction is read-only
	openRows     *rows

	mu     sync.Mutex // held while handle is used or closed
	handle uintptr
}

// Query sends a statement.
func (s *session) Query(text string, params []any) (sql.Rows, error) {
	if err := s.check(text, params); err != nil {
		return nil, err
	}
	result, err := s.conn.QueryContext(s.ctx, text, named(params))
	if err != nil {
		return nil, err
	}
	s.openRows = newRows(result)
	return s.openRows, nil
}

// Exec sends a statement and drops its rows.
func (s *session) Exec(text string, params []any) (sql.Result, error) {
	if err := s.check(text, params); err != nil {
		return sql.Result{}, err
	}
	before := s.changes()
	r, err := s.conn.ExecContext(s.ctx, text, named(params))
	if err != nil {
		return sql.Result{}, err
	}
	if r == nil {
		return sql.Result{}, refused("there is no statement")
	}
	var out sql.Result
	if s.changes() == before {
		return out, nil // what SQLite returns is about an earlier statement
	}
	switch sql.Keyword(text) {
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

// changes returns how many rows the session has ever changed.
func (s *session) changes() int32 {
	tls := libc.NewTLS()
	defer tls.Close()
	return sqlite3.Xsqlite3_total_changes(tls, s.handle)
}

// check refuses several statements in one text, a wrong number of values, and
// statements after the transaction was rolled back.
func (s *session) check(text string, params []any) error {
	n, err := placeholders(text)
	if err != nil {
		return err
	}
	if n != len(params) {
		return refused(fmt.Sprintf("the statement has %d placeholders, and %d values were given", n, len(params)))
	}
	if s.inTx && s.autocommit() {
		return errRolledBack
	}
	return nil
}

// errRolledBack is the error after a conflict or a trigger has rolled the
// transaction back: each later statement would be on its own.
const errRolledBack = refused("the transaction was rolled back")

func named(params []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(params))
	for i, p := range params {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: value(p)}
	}
	return values
}

// command executes a statement of the driver itself.
func (s *session) command(text string) error {
	s.ownStatement.Store(true)
	defer s.ownStatement.Store(false)
	_, err := s.conn.ExecContext(s.ctx, text, nil)
	return err
}

// Begin starts a transaction. One that writes locks the file for writing at once:
// later it could find the file changed.
func (s *session) Begin(readOnly bool) error {
	text := "BEGIN IMMEDIATE"
	if readOnly {
		text = "BEGIN"
	}
	if err := s.command(text); err != nil {
		return err
	}
	s.inTx, s.readOnly = true, readOnly
	return nil
}

// Commit commits.
func (s *session) Commit() error {
	if s.autocommit() {
		return errRolledBack
	}
	err := s.command("COMMIT")
	if err == nil {
		s.inTx, s.readOnly = false, false
	}
	return err
}

// Rollback rolls the transaction back.
func (s *session) Rollback() error {
	s.inTx, s.readOnly = false, false
	if s.autocommit() {
		return nil
	}
	s.ownStatement.Store(true)
	defer s.ownStatement.Store(false)
	// Not with the context of the session, which an interrupt has ended.
	_, err := s.conn.ExecContext(context.Background(), "ROLLBACK", nil)
	return err
}

func (s *session) autocommit() bool {
	tls := libc.NewTLS()
	defer tls.Close()
	return sqlite3.Xsqlite3_get_autocommit(tls, s.handle) != 0
}

// Reset fails if state may be left.
func (s *session) Reset() error {
	if s.dirty || !s.autocommit() {
		return errors.New("a temporary table or a transaction is left")
	}
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_set_last_insert_rowid(tls, s.handle, 0)
	return nil
}

// Ping does nothing: there is no server.
func (s *session) Ping() error { return nil }

// Cancel interrupts the statement.
func (s *session) Cancel(context.Context) { s.Break() }

// Break interrupts the statement.
func (s *session) Break() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != 0 {
		tls := libc.NewTLS() // the one of the statement belongs to its goroutine
		defer tls.Close()
		sqlite3.Xsqlite3_interrupt(tls, s.handle)
	}
}

// Close closes the file.
func (s *session) Close(context.Context, bool) {
	s.cancel()
	if s.openRows != nil {
		_ = s.openRows.close() // a file with an open statement would stay open
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = 0
	_ = s.conn.Close() // which rolls an open transaction back
}

// rows are the rows of a statement.
type rows struct {
	result driver.Rows
	kinds  []string
	values []driver.Value
	closed bool
}

func newRows(result driver.Rows) *rows {
	r := &rows{result: result, values: make([]driver.Value, len(result.Columns()))}
	types, _ := result.(driver.RowsColumnTypeDatabaseTypeName)
	for i := range r.values {
		kind := ""
		if types != nil {
			kind = types.ColumnTypeDatabaseTypeName(i)
		}
		r.kinds = append(r.kinds, kind)
	}
	return r
}

// Columns returns the names of the columns.
func (r *rows) Columns() []string { return r.result.Columns() }

// Next fills row with the next row.
func (r *rows) Next(row []sql.Value) error {
	if err := r.result.Next(r.values); err != nil {
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
	return r.result.Close()
}

// fromColumn returns the value of a column with a declared type.
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
