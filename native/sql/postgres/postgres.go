// Package postgres is the driver of native.sql for PostgreSQL.
//
// Values are sent as text, and the server infers the type of a placeholder from
// its context; only a string for a bytea is sent as bytes. Results come as text
// too, which loses nothing.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// New returns the driver.
func New() sql.Driver { return driver{} }

type driver struct{}

// neutral is a configuration that takes nothing from the environment that could
// change the server, the user or the encryption. Whatever matters is set after
// it has been parsed.
const neutral = "host=/ port=5432 user=x password=x database=x passfile='' sslmode=disable"

// Connect opens a session.
func (driver) Connect(ctx context.Context, t sql.Target) (sql.Session, error) {
	cfg, err := pgconn.ParseConfig(neutral)
	if err != nil {
		return nil, errors.New("the configuration in the environment can't be read")
	}
	port := t.Port
	if port == 0 {
		port = 5432
	}
	cfg.Host, cfg.Port, cfg.Database, cfg.User, cfg.Password = t.Host, uint16(port), t.Database, t.User, string(t.Secret)
	cfg.TLSConfig, cfg.Fallbacks, cfg.ValidateConnect, cfg.AfterConnect = t.TLSConfig(), nil, nil, nil
	cfg.ConnectTimeout, cfg.RequireAuth, cfg.SSLNegotiation = 0, "", ""
	cfg.RuntimeParams = map[string]string{
		"application_name": "tidelock", "client_encoding": "UTF8", "datestyle": "ISO", "timezone": "UTC",
	}
	if t.ReadOnly {
		cfg.RuntimeParams["default_transaction_read_only"] = "on"
	}
	cfg.DialFunc = t.Dial
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn}, nil
}

// Classify returns what an error means.
func (driver) Classify(err error) sql.Failure {
	refusal, ok := errors.AsType[*refused](err)
	if ok {
		return sql.Failure{Kind: sql.Refused, State: refusal.state, Message: refusal.message}
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if strings.Contains(err.Error(), "server refused TLS connection") {
			return sql.Failure{Kind: sql.Denied, Reason: "the server offers no TLS"}
		}
		return sql.Failure{}
	}
	return sql.Failure{Kind: kind(e), State: e.Code, Message: shown(e), Reason: reason(e.Code)}
}

// kind returns the kind of a server's error. The first two characters of a
// state are its class.
func kind(e *pgconn.PgError) sql.Kind {
	switch e.Code {
	case "40001", "40P01":
		return sql.Conflict
	case "23505", "23P01":
		return sql.Unique
	case "55P03":
		return sql.Busy
	case "3D000":
		return sql.Denied
	case "57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53400":
		return sql.Unavailable
	}
	if strings.HasPrefix(e.Code, "28") {
		return sql.Denied
	}
	if e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC" {
		return sql.Unavailable
	}
	return sql.Refused
}

// refused is the error of a statement that the driver refuses by itself.
type refused struct{ state, message string }

func (r *refused) Error() string { return r.message }

// session is a connection. Its calls have no deadlines: to end them, the network
// connection is cut.
type session struct{ conn *pgconn.PgConn }

// hinted adds a hint if a statement failed because of placeholders of other
// databases. A question mark by itself may be an operator.
func hinted(err error, text string) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || e.Code != syntaxError && e.Code != noFunction && e.Code != protocolError {
		return err
	}
	if question, dollar := sql.Placeholders(text); question && !dollar {
		return &sql.Hinted{Err: err, Hint: "the placeholders of PostgreSQL are $1, $2 and so on, not ?"}
	}
	return err
}

// States of errors.
const (
	syntaxError   = "42601"
	noFunction    = "42883" // or operator
	protocolError = "08P01"
)

// Query sends a statement.
func (s *session) Query(text string, params []any) (sql.Rows, error) {
	rows, err := s.query(text, params)
	if err != nil {
		return nil, hinted(err, text)
	}
	return rows, nil
}

func (s *session) query(text string, params []any) (sql.Rows, error) {
	result, err := s.send(text, params)
	if err != nil {
		return nil, err
	}
	r := &rows{result: result, keyword: sql.Keyword(text)}
	if r.hasRow = result.NextRow(); !r.hasRow {
		if err := r.end(); err != nil {
			return nil, err
		}
	}
	for _, field := range result.FieldDescriptions() {
		r.columns = append(r.columns, field.Name)
		r.types = append(r.types, field.DataTypeOID)
	}
	return r, nil
}

// Exec sends a statement and drops its rows.
func (s *session) Exec(text string, params []any) (sql.Result, error) {
	result, err := s.send(text, params)
	if err != nil {
		return sql.Result{}, hinted(err, text)
	}
	tag, err := result.Close()
	if err == nil {
		err = checkTag(tag, sql.Keyword(text))
	}
	return sql.Result{Affected: tag.RowsAffected()}, hinted(err, text)
}

// checkTag returns an error unless the tag, with which an answer ends, is that of
// a statement with this first word.
func checkTag(tag pgconn.CommandTag, keyword string) error {
	verb, _, _ := strings.Cut(tag.String(), " ")
	switch keyword {
	case "insert", "update", "delete", "merge":
		if verb == strings.ToUpper(keyword) {
			return nil
		}
	case "select", "values", "table":
		if verb == "SELECT" {
			return nil
		}
	default:
		if verb != "" {
			return nil
		}
	}
	return fmt.Errorf("an answer that ends with %q", tag)
}

// send sends a statement with its values. If one of them is a string, the types of
// the placeholders matter, and the statement is prepared to get them.
func (s *session) send(text string, params []any) (*pgconn.ResultReader, error) {
	ctx := context.Background()
	values, strings := make([][]byte, len(params)), false
	for i, p := range params {
		switch p := p.(type) {
		case nil:
		case bool:
			values[i] = strconv.AppendBool(nil, p)
		case int64:
			values[i] = strconv.AppendInt(nil, p, 10)
		case float64:
			values[i] = strconv.AppendFloat(nil, p, 'g', -1, 64)
		case string:
			values[i], strings = append([]byte{}, p...), true
		default:
			return nil, &refused{message: fmt.Sprintf("placeholder %d: a %T", i+1, p)}
		}
	}
	if !strings {
		return s.conn.ExecParams(ctx, text, values, nil, nil, nil), nil
	}
	prepared, err := s.conn.Prepare(ctx, "", text, nil)
	if err != nil {
		return nil, err
	}
	formats := make([]int16, len(values))
	for i, oid := range prepared.ParamOIDs {
		if oid == typeBytea && i < len(params) {
			if _, ok := params[i].(string); ok {
				formats[i] = 1 // binary: the bytes themselves
			}
		}
	}
	return s.conn.ExecPrepared(ctx, "", values, formats, nil), nil
}

// command sends a statement of the driver itself and returns its tag.
func (s *session) command(text string) (string, error) {
	results, err := s.conn.Exec(context.Background(), text).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 {
		return "", fmt.Errorf("%d answers to %s", len(results), text)
	}
	return results[0].CommandTag.String(), nil
}

// expect sends a statement of the driver itself. It is an error if the answer has
// another tag, or leaves the session in another state.
func (s *session) expect(text, tag string, state byte) error {
	got, err := s.command(text)
	if err == nil && (got != tag || s.conn.TxStatus() != state) {
		err = fmt.Errorf("the answer to %s is %q in state %c", text, got, s.conn.TxStatus())
	}
	return err
}

// Begin starts a transaction.
func (s *session) Begin(readOnly bool) error {
	text := "BEGIN"
	if readOnly {
		text = "BEGIN READ ONLY"
	}
	return s.expect(text, "BEGIN", stateOpen)
}

// States of a session between two statements.
const (
	stateIdle   = 'I'
	stateOpen   = 'T' // in a transaction
	stateFailed = 'E' // in a transaction that can only be rolled back
)

// Commit commits. If a statement of the transaction has failed, the server
// would roll it back instead.
func (s *session) Commit() error {
	switch s.conn.TxStatus() {
	case stateFailed:
		return &refused{"25P02", "a statement of the transaction has failed"}
	case stateIdle:
		return &refused{"25000", "the transaction was ended by a statement"}
	}
	tag, err := s.command("COMMIT")
	switch {
	case err != nil:
		return err
	case tag == "ROLLBACK":
		return &refused{"25P02", "the transaction was rolled back"}
	case tag != "COMMIT" || s.conn.TxStatus() != stateIdle:
		return fmt.Errorf("the answer to COMMIT is %q in state %c", tag, s.conn.TxStatus())
	}
	return nil
}

// Rollback rolls the transaction back.
func (s *session) Rollback() error {
	if s.conn.TxStatus() == stateIdle {
		return nil
	}
	return s.expect("ROLLBACK", "ROLLBACK", stateIdle)
}

// Reset drops settings, temporary tables, locks, prepared statements and so on.
func (s *session) Reset() error {
	if s.conn.TxStatus() != stateIdle {
		return errors.New("a transaction is open")
	}
	return s.expect("DISCARD ALL", "DISCARD ALL", stateIdle)
}

// Ping returns an error unless the server answers.
func (s *session) Ping() error { return s.conn.Ping(context.Background()) }

// Cancel sends a cancel request.
func (s *session) Cancel(ctx context.Context) { _ = s.conn.CancelRequest(ctx) } // the connection is closed anyway

// Break does nothing: the network connection is cut.
func (s *session) Break() {}

// Close closes the connection, and waits for the clean-up of the underlying
// driver. A busy server notices neither a termination message nor the end of
// the connection before its statement ends, so it is cancelled first.
func (s *session) Close(ctx context.Context, busy bool) {
	if busy {
		s.Cancel(ctx)
	}
	if !s.conn.IsClosed() {
		_ = s.conn.Close(context.Background()) // the network connection is closed in any case
	}
	<-s.conn.CleanupDone()
}
