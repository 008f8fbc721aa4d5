package mysql

import (
	"database/sql/driver"
	"errors"
	"reflect"
	"strings"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// Flags of the server's status, which ends each answer but that of an error.
const (
	statusInTx       = 1
	statusAutocommit = 2
)

var (
	errChanged = errors.New("the driver has changed")
	errNoTx    = errors.New("no transaction is open")
	errShort   = errors.New("a row is shorter than it says")
	// errEnded is the error of a statement after which its transaction is over: a
	// procedure has committed or rolled back. What has become of the statements
	// before it isn't known.
	errEnded = errors.New("the transaction was ended by a statement")
)

// statusOf returns the function that returns the status in the latest answer on a
// connection, nil if the underlying driver has changed. The driver keeps it to
// itself.
func statusOf(conn driver.Conn) func() uint16 {
	v := reflect.ValueOf(conn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := v.Elem().FieldByName("status")
	if !field.CanUint() {
		return nil
	}
	return func() uint16 { return uint16(field.Uint()) }
}

// ended reports whether the end of the rows has come. The underlying driver
// returns io.EOF for a row that is cut short too.
func ended(result driver.Rows) bool {
	v := reflect.ValueOf(result)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	rs := v.Elem().FieldByName("rs")
	if rs.Kind() != reflect.Struct {
		return false
	}
	done := rs.FieldByName("done")
	return done.Kind() == reflect.Bool && done.Bool()
}

// checkStatus returns an error if the status after a statement isn't what it has
// to be: a transaction is still open, or nothing has to be committed.
func (s *session) checkStatus(text string) error {
	switch {
	case s.inTx && s.status()&statusInTx == 0:
		s.rolledBack = true
		return errEnded
	case !s.inTx && s.status()&statusAutocommit == 0 && !(sql.Keyword(text) == "set" && strings.Contains(strings.ToLower(text), "autocommit")):
		return errors.New("an answer without the mode in which statements commit by themselves")
	}
	return nil
}
