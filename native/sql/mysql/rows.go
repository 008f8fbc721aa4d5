package mysql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/sql"
)

type rows struct {
	answer    driver.Rows
	statement statement // closed after the last row; nil for none
	columns   []string
	decode    []func(driver.Value) any
	values    []driver.Value
}

func newRows(answer driver.Rows, st statement) *rows {
	r := &rows{answer: answer, statement: st, columns: answer.Columns()}
	r.values = make([]driver.Value, len(r.columns))
	types, _ := answer.(driver.RowsColumnTypeDatabaseTypeName)
	scales, _ := answer.(driver.RowsColumnTypePrecisionScale)
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

// Columns are the names of the columns.
func (r *rows) Columns() []string { return r.columns }

// Next returns the next row.
func (r *rows) Next() ([]any, error) {
	if err := r.answer.Next(r.values); err != nil {
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err := r.close(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	row := make([]any, len(r.values))
	for i, v := range r.values {
		if v == nil {
			row[i] = native.Null{}
		} else {
			row[i] = r.decode[i](v)
		}
	}
	return row, nil
}

// close reads what else the server sends: a procedure has further results.
func (r *rows) close() error {
	if err := r.answer.Close(); err != nil {
		return err
	}
	if r.statement == nil {
		return nil
	}
	return r.statement.Close()
}

// decoder makes the function that makes a value of a column of some type. The
// bytes that it gets are overwritten by the next row.
func decoder(kind string, whole bool) func(driver.Value) any {
	text := func(v driver.Value, of func(string) any) any {
		switch v := v.(type) {
		case []byte:
			return of(string(v))
		case int64:
			return sql.Integer(v)
		case uint64:
			return sql.Unsigned(v)
		case float32: // 0.1 is 0.1 again
			f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
			return f
		case float64:
			return v
		}
		return fmt.Sprint(v)
	}
	switch kind {
	case "BIT":
		return func(v driver.Value) any {
			raw, _ := v.([]byte)
			var n uint64
			for _, b := range raw {
				n = n<<8 | uint64(b)
			}
			return sql.Unsigned(n)
		}
	case "DECIMAL":
		if whole {
			return func(v driver.Value) any { return text(v, sql.Digits) }
		}
	case "DATETIME":
		return func(v driver.Value) any { return text(v, func(s string) any { return sql.Moment(s, false) }) }
	case "TIMESTAMP":
		return func(v driver.Value) any { return text(v, func(s string) any { return sql.Moment(s, true) }) }
	}
	return func(v driver.Value) any { return text(v, func(s string) any { return s }) }
}
