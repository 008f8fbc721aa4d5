package postgres

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/sql"
)

// Types that don't come as the text that the server writes, by their numbers in
// the catalog.
const (
	typeBool        = 16
	typeBytea       = 17
	typeInt8        = 20
	typeInt2        = 21
	typeInt4        = 23
	typeOID         = 26
	typeFloat4      = 700
	typeFloat8      = 701
	typeTimestamp   = 1114
	typeTimestampTZ = 1184
)

type rows struct {
	answer  *pgconn.ResultReader
	columns []string
	types   []uint32
	first   bool // a row has been fetched that nobody has got
}

// Columns are the names of the columns.
func (r *rows) Columns() []string { return r.columns }

// Next returns the next row.
func (r *rows) Next() ([]any, error) {
	if !r.first && !r.answer.NextRow() {
		if _, err := r.answer.Close(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	r.first = false
	values := r.answer.Values()
	row := make([]any, len(values))
	for i, v := range values {
		value, err := decode(r.types[i], v)
		if err != nil {
			return nil, &refused{message: fmt.Sprintf("column %q: %v", r.columns[i], err)}
		}
		row[i] = value
	}
	return row, nil
}

// decode makes a value of its text. text is overwritten by the next row.
func decode(oid uint32, text []byte) (any, error) {
	if text == nil {
		return native.Null{}, nil
	}
	s := string(text)
	switch oid {
	case typeBool:
		return s == "t", nil
	case typeInt2, typeInt4, typeInt8, typeOID:
		return sql.Digits(s), nil
	case typeFloat4, typeFloat8:
		return strconv.ParseFloat(s, 64)
	case typeBytea:
		digits, ok := strings.CutPrefix(s, `\x`)
		if !ok {
			return nil, fmt.Errorf("bytes that aren't in hexadecimal: set bytea_output to hex")
		}
		raw, err := hex.DecodeString(digits)
		return string(raw), err
	case typeTimestamp, typeTimestampTZ:
		return sql.Moment(s, false), nil
	}
	return s, nil
}
