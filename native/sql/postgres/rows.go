package postgres

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// Types whose text is decoded, by their numbers in the catalog.
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
	result  *pgconn.ResultReader
	keyword string // of the statement
	n       int64  // rows returned
	columns []string
	types   []uint32
	hasRow  bool // the first row was fetched, and not returned yet
}

// Columns returns the names of the columns.
func (r *rows) Columns() []string { return r.columns }

// Next fills row with the next row.
func (r *rows) Next(row []sql.Value) error {
	if !r.hasRow && !r.result.NextRow() {
		if err := r.end(); err != nil {
			return err
		}
		return io.EOF
	}
	r.hasRow = false
	r.n++
	values := r.result.Values()
	if len(values) != len(row) {
		return fmt.Errorf("a row of %d values for %d columns", len(values), len(row))
	}
	for i, text := range values {
		var err error
		if row[i], err = decode(r.types[i], text); err != nil {
			return &refused{message: fmt.Sprintf("column %q: %v", r.columns[i], err)}
		}
	}
	return nil
}

// end reads the end of the answer. It is an error if it doesn't have as many
// rows as its tag counts.
func (r *rows) end() error {
	tag, err := r.result.Close()
	if err != nil {
		return err
	}
	if err := checkTag(tag, r.keyword); err != nil {
		return err
	}
	want := tag.RowsAffected()
	counts := tag.Select() || want > 0 && (tag.Insert() || tag.Update() || tag.Delete()) // a rule may have done another thing
	if counts && len(r.result.FieldDescriptions()) > 0 && r.n != want {
		return fmt.Errorf("%d rows of %q", r.n, tag)
	}
	return nil
}

// decode returns the value of a text, which is nil for NULL. It doesn't keep text,
// which the next row overwrites.
func decode(oid uint32, text []byte) (sql.Value, error) {
	if text == nil {
		return sql.Value{}, nil
	}
	switch oid {
	case typeBool:
		if string(text) != "t" && string(text) != "f" {
			return sql.Value{}, fmt.Errorf("%.10q is no boolean", text)
		}
		return sql.Bool(string(text) == "t"), nil
	case typeInt2, typeInt4, typeInt8, typeOID:
		if !isWhole(text) {
			return sql.Value{}, fmt.Errorf("%.20q is no whole number", text)
		}
		return sql.Digits(text), nil
	case typeFloat4, typeFloat8:
		f, err := strconv.ParseFloat(string(text), 64)
		return sql.Number(f), err
	case typeBytea:
		digits, ok := bytes.CutPrefix(text, []byte(`\x`))
		if !ok {
			return sql.Value{}, errors.New("bytes that aren't in hexadecimal: set bytea_output to hex")
		}
		raw, err := hex.AppendDecode(nil, digits)
		return sql.Text(string(raw)), err
	case typeTimestamp, typeTimestampTZ:
		return sql.Timestamp(text, false), nil
	}
	return sql.Text(string(text)), nil
}

// isWhole reports whether text is a whole number.
func isWhole(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(digits) > 0
}
