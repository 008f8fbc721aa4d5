// Package mysql is the driver of native.sql for MySQL and MariaDB.
//
// A statement with values is prepared, executed and dropped: the server gets the
// values apart from the statement, never in its text.
package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// New returns the driver.
func New() sql.Driver { return mysqlDriver{} }

type mysqlDriver struct{}

// connection is what connections of the underlying driver implement.
type connection interface {
	driver.Conn
	driver.Pinger
	driver.QueryerContext
	driver.ExecerContext
	driver.ConnPrepareContext
}

// Connect opens a session.
func (mysqlDriver) Connect(ctx context.Context, t sql.Target) (sql.Session, error) {
	connector, err := connector(t)
	if err != nil {
		return nil, err
	}
	conn, err := open(ctx, connector)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, connector: connector, status: statusOf(conn)}
	if s.status == nil {
		return nil, errors.Join(errChanged, conn.Close())
	}
	if s.id, err = s.connectionID(); err == nil && t.ReadOnly {
		_, err = conn.ExecContext(ctx, "SET SESSION TRANSACTION READ ONLY", nil)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// connector returns how to connect. No text is parsed for it.
func connector(t sql.Target) (driver.Connector, error) {
	port := t.Port
	if port == 0 {
		port = 3306
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = t.User, string(t.Secret), t.Database
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(t.Host, strconv.Itoa(port))
	if strings.HasPrefix(t.Host, "/") {
		cfg.Net, cfg.Addr = "unix", t.Host
	}
	cfg.TLS = t.TLSConfig()
	cfg.DialFunc = t.Dial
	cfg.Logger = &mysql.NopLogger{}
	cfg.Params = map[string]string{"time_zone": "'+00:00'", "autocommit": "1"}
	cfg.ClientFoundRows = true // affected counts the rows that matched, as in other databases
	return mysql.NewConnector(cfg)
}

func open(ctx context.Context, c driver.Connector) (connection, error) {
	conn, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	known, ok := conn.(connection)
	if !ok {
		return nil, errors.Join(errChanged, conn.Close())
	}
	return known, nil
}

// Classify returns what an error means.
func (mysqlDriver) Classify(err error) sql.Failure {
	if r, ok := errors.AsType[*refused](err); ok {
		return sql.Failure{Kind: sql.Refused, Message: r.message}
	}
	if errors.Is(err, mysql.ErrNoTLS) {
		return sql.Failure{Kind: sql.Denied, Reason: "the server offers no TLS"}
	}
	for _, unusable := range []error{mysql.ErrCleartextPassword, mysql.ErrNativePassword, mysql.ErrOldPassword, mysql.ErrUnknownPlugin, mysql.ErrOldProtocol} {
		if errors.Is(err, unusable) {
			return sql.Failure{Kind: sql.Denied, Reason: "the server wants a kind of authentication that isn't supported"}
		}
	}
	if errors.Is(err, mysql.ErrPktTooLarge) {
		return sql.Failure{Kind: sql.Refused, Reason: "the statement with its values is too large"}
	}
	if errors.Is(err, errEnded) {
		return sql.Failure{Kind: sql.Unavailable, Reason: "a statement has ended its transaction"}
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return sql.Failure{}
	}
	state := ""
	if e.SQLState != [5]byte{} {
		state = string(e.SQLState[:])
	} else if !slices.Contains(greetingErrors, e.Number) {
		return sql.Failure{} // a server's error has a state, once the client is known
	}
	return sql.Failure{Kind: kind(e.Number), State: state, Number: int(e.Number), Message: shown(e), Reason: reason(e.Number)}
}

// greetingErrors are the numbers of errors that servers send before the protocol is
// agreed, and so without a SQLSTATE.
var greetingErrors = []uint16{1040, 1053, 1129, 1130, 1152, 1203}

func kind(number uint16) sql.Kind {
	switch number {
	case 1213, 1020: // deadlock; changed since it was read
		return sql.Conflict
	case 1062, 1586: // a key exists
		return sql.Unique
	case 1205, 3572: // a lock wasn't free in time, or at once
		return sql.Busy
	case 1044, 1045, 1049, 1698, 3118, 1129, 1130: // access, database, locked account, blocked host
		return sql.Denied
	case 1040, 1203, 1226, 1053, 1927, 3169, 4031: // too many connections; shut down, killed, idle for too long
		return sql.Unavailable
	}
	return sql.Refused
}

// refused is the error of a statement that the driver refuses by itself.
type refused struct{ message string }

func (r *refused) Error() string { return r.message }

// session is a connection. Its calls have no deadlines: to end them, the network
// connection is cut.
type session struct {
	conn       connection
	connector  driver.Connector // for cancelling
	id         int64            // the connection's number at the server
	dirty      bool             // a statement may have changed the state of the session
	inTx       bool             // a transaction is open
	rolledBack bool             // the server may have rolled it back
	status     func() uint16    // the server's flags in its latest answer
}

func (s *session) connectionID() (id int64, err error) {
	r, err := s.Query("SELECT CONNECTION_ID()", nil)
	if err != nil {
		return 0, err
	}
	row := make([]sql.Value, len(r.Columns()))
	if err := r.Next(row); err != nil {
		return 0, err
	}
	number, ok := row[0].Any().(float64)
	if !ok {
		return 0, fmt.Errorf("a connection numbered %v", row[0])
	}
	if err := r.Next(row); !errors.Is(err, io.EOF) {
		return 0, err
	}
	return int64(number), nil
}

// hinted adds a hint if a statement failed because of placeholders of other
// databases.
func hinted(err error, text string) error {
	refusal, isRefused := errors.AsType[*refused](err)
	e, isServers := errors.AsType[*mysql.MySQLError](err)
	if isRefused && strings.Contains(refusal.message, "placeholders") || isServers && (e.Number == 1054 || e.Number == 1064) {
		if question, dollar := sql.Placeholders(text); dollar && !question {
			return &sql.Hinted{Err: err, Hint: "the placeholders of MySQL and MariaDB are ?, not $1"}
		}
	}
	return err
}

// Query sends a statement.
func (s *session) Query(text string, params []any) (sql.Rows, error) {
	if err := s.check(text); err != nil {
		return nil, err
	}
	rows, err := s.query(text, params)
	if err != nil {
		return nil, hinted(s.note(err), text)
	}
	return rows, nil
}

func (s *session) query(text string, params []any) (sql.Rows, error) {
	ctx := context.Background()
	if len(params) == 0 {
		rows, err := s.conn.QueryContext(ctx, text, nil)
		if err != nil {
			return nil, err
		}
		return newRows(s, text, rows, nil), nil
	}
	st, err := s.prepare(text, params)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, named(params))
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return newRows(s, text, rows, st), nil
}

// Exec sends a statement and drops its rows.
func (s *session) Exec(text string, params []any) (sql.Result, error) {
	if err := s.check(text); err != nil {
		return sql.Result{}, err
	}
	r, err := s.exec(text, params)
	if err == nil {
		err = s.checkStatus(text)
	}
	return r, hinted(s.note(err), text)
}

func (s *session) exec(text string, params []any) (sql.Result, error) {
	ctx := context.Background()
	if len(params) == 0 {
		return result(s.conn.ExecContext(ctx, text, nil))
	}
	st, err := s.prepare(text, params)
	if err != nil {
		return sql.Result{}, err
	}
	r, err := result(st.ExecContext(ctx, named(params)))
	if closing := st.Close(); err == nil {
		err = closing
	}
	return r, err
}

func result(r driver.Result, err error) (sql.Result, error) {
	if err != nil {
		return sql.Result{}, err
	}
	affected, err := r.RowsAffected()
	if err != nil {
		return sql.Result{}, err
	}
	if affected < 0 {
		return sql.Result{}, fmt.Errorf("an answer with %d rows", affected)
	}
	last, err := r.LastInsertId()
	return sql.Result{Affected: affected, LastID: last}, err
}

// statement is what prepared statements of the underlying driver implement.
type statement interface {
	driver.Stmt
	driver.StmtQueryContext
	driver.StmtExecContext
}

func (s *session) prepare(text string, params []any) (statement, error) {
	prepared, err := s.conn.PrepareContext(context.Background(), text)
	if errors.Is(err, driver.ErrBadConn) {
		return nil, mysql.ErrInvalidConn
	}
	if err != nil {
		return nil, err
	}
	st, ok := prepared.(statement)
	if !ok {
		return nil, errors.Join(errChanged, prepared.Close())
	}
	if n := st.NumInput(); n != len(params) {
		if err := st.Close(); err != nil {
			return nil, err
		}
		return nil, &refused{fmt.Sprintf("the statement has %d placeholders, and %d values were given", n, len(params))}
	}
	return st, nil
}

func named(params []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(params))
	for i, p := range params {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: p}
	}
	return values
}

func (s *session) command(text string) error {
	_, err := s.conn.ExecContext(context.Background(), text, nil)
	return err
}

// Begin starts a transaction.
func (s *session) Begin(readOnly bool) error {
	text := "START TRANSACTION"
	if readOnly {
		text = "START TRANSACTION READ ONLY"
	}
	err := s.command(text)
	if err == nil && s.status()&statusInTx == 0 {
		err = fmt.Errorf("the answer to %s: %w", text, errNoTx)
	}
	s.inTx, s.rolledBack = err == nil, false
	return err
}

// Commit commits.
func (s *session) Commit() error {
	if s.rolledBack {
		return errRolledBack
	}
	s.inTx = false
	return s.endTx("COMMIT")
}

// endTx sends a statement that ends the transaction.
func (s *session) endTx(text string) error {
	err := s.command(text)
	if err == nil && s.status()&(statusInTx|statusAutocommit) != statusAutocommit {
		err = fmt.Errorf("the state after %s is %#x", text, s.status())
	}
	return err
}

// Rollback rolls the transaction back.
func (s *session) Rollback() error {
	s.inTx, s.rolledBack = false, false
	return s.endTx("ROLLBACK")
}

// resetStatement clears what the server returns about the latest statements: the
// number that an insert got, the number of rows, warnings.
const resetStatement = "SELECT LAST_INSERT_ID(0) FROM (SELECT 1) AS x"

// Reset fails if other state may have changed. The protocol could reset any
// session, but the underlying driver can't.
func (s *session) Reset() error {
	if s.dirty {
		return errors.New("a statement may have changed the state of the session")
	}
	return s.command(resetStatement)
}

// Ping returns an error unless the server answers.
func (s *session) Ping() error { return s.conn.Ping(context.Background()) }

// Cancel stops the statement by KILL QUERY.
func (s *session) Cancel(ctx context.Context) { s.stop(ctx, "KILL QUERY %d") }

// stop sends a KILL statement for this connection over another one.
func (s *session) stop(ctx context.Context, statement string) {
	conn, err := open(ctx, s.connector)
	if err != nil {
		return // the network connection is closed anyway
	}
	defer conn.Close()
	_, _ = conn.ExecContext(ctx, fmt.Sprintf(statement, s.id), nil) // fails if it has ended
}

// Break does nothing: the network connection is cut.
func (s *session) Break() {}

// Close closes the connection. A busy server wouldn't notice that before its
// statement ends, so it is stopped first.
func (s *session) Close(ctx context.Context, busy bool) {
	if busy {
		s.stop(ctx, "KILL %d")
	}
	_ = s.conn.Close() // the network connection is closed in any case
}
