package mysql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tidelock-lua/tidelock/native/sql"
)

type rows struct {
	session   *session
	text      string // of the statement
	result    driver.Rows
	statement statement // closed after the last row; nil for none
	columns   []string
	decode    []func(driver.Value) sql.Value
	values    []driver.Value
}

func newRows(s *session, text string, result driver.Rows, st statement) *rows {
	r := &rows{session: s, text: text, result: result, statement: st, columns: result.Columns()}
	r.values = make([]driver.Value, len(r.columns))
	types, _ := result.(driver.RowsColumnTypeDatabaseTypeName)
	scales, _ := result.(driver.RowsColumnTypePrecisionScale)
	for i := range r.columns {
		kind, whole := "", false
		if types != nil {
			kind = types.ColumnTypeDatabaseTypeName(i)
		}
		if scales != nil {
			_, scale, ok := scales.ColumnTypePrecisionScale(i)
			whole = ok && scale == 0
		}
		r.decode = append(r.decode, decoder(kind, whole))
	}
	return r
}

// Columns returns the names of the columns.
func (r *rows) Columns() []string { return r.columns }

// Next fills row with the next row.
func (r *rows) Next(row []sql.Value) error {
	if err := r.result.Next(r.values); err != nil {
		if !errors.Is(err, io.EOF) {
			return r.session.note(err)
		}
		if !ended(r.result) {
			return errShort
		}
		if err := r.close(); err != nil {
			return err
		}
		if err := r.session.checkStatus(r.text); err != nil {
			return r.session.note(err)
		}
		return io.EOF
	}
	for i, v := range r.values {
		if v != nil {
			row[i] = r.decode[i](v)
		}
	}
	return nil
}

// close reads the rest of what the server sends: a procedure has further results.
func (r *rows) close() error {
	if err := r.result.Close(); err != nil {
		return err
	}
	if r.statement == nil {
		return nil
	}
	return r.statement.Close()
}

// decoder returns the function that decodes the values of a column of some
// type. It doesn't keep their bytes, which the next row overwrites.
func decoder(kind string, whole bool) func(driver.Value) sql.Value {
	of := func(text []byte) sql.Value { return sql.Text(string(text)) }
	switch {
	case kind == "BIT":
		of = bits
	case kind == "DECIMAL" && whole:
		of = sql.Digits
	case kind == "DATETIME":
		of = func(text []byte) sql.Value { return sql.Timestamp(text, false) }
	case kind == "TIMESTAMP":
		of = func(text []byte) sql.Value { return sql.Timestamp(text, true) }
	}
	return func(v driver.Value) sql.Value {
		switch v := v.(type) {
		case []byte:
			return of(v)
		case int64:
			return sql.Integer(v)
		case uint64:
			return sql.Unsigned(v)
		case float32: // so that 0.1 stays 0.1
			f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
			return sql.Number(f)
		case float64:
			return sql.Number(v)
		}
		return sql.Text(fmt.Sprint(v))
	}
}

// bits returns the number that a BIT stands for.
func bits(raw []byte) sql.Value {
	var n uint64
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return sql.Unsigned(n)
}
