package sql

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/tidelock-lua/tidelock/native/value"
)

// exactMax is the largest whole number up to which a Lua number is exact.
const exactMax = 1 << 53

// Value is a value in a row. The zero Value is NULL.
type Value struct {
	kind   kind
	number float64 // of a number; 1 is true
	text   string
}

type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isText
)

// Bool is a truth value.
func Bool(b bool) Value {
	v := Value{kind: isBool}
	if b {
		v.number = 1
	}
	return v
}

// Number is a number.
func Number(f float64) Value { return Value{kind: isNumber, number: f} }

// Text is a string of any bytes.
func Text(s string) Value { return Value{kind: isText, text: s} }

// Any returns v as one of the types of package native: Null, bool, float64 or
// string.
func (v Value) Any() any {
	switch v.kind {
	case isBool:
		return v.number != 0
	case isNumber:
		return v.number
	case isText:
		return v.text
	}
	return value.Null{}
}

// String returns v as text.
func (v Value) String() string {
	if v.kind == isNull {
		return "NULL"
	}
	return fmt.Sprint(v.Any())
}

// Integer is a whole number as scripts get it: a number, or its digits as a
// string where a number would round it.
func Integer(n int64) Value {
	if n < -exactMax || n > exactMax {
		return Text(strconv.FormatInt(n, 10))
	}
	return Number(float64(n))
}

// Unsigned is like [Integer].
func Unsigned(n uint64) Value {
	if n > exactMax {
		return Text(strconv.FormatUint(n, 10))
	}
	return Number(float64(n))
}

// Digits is a whole number in decimal digits as scripts get it, see [Integer].
func Digits(text []byte) Value {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return Integer(n)
	}
	return Text(string(text))
}

// Timestamp is a date and time as servers write it ("2024-05-01 12:00:00.5+00")
// in the form of RFC 3339. One without an offset gets none, or Z if the text is
// known to be in UTC. What isn't of that form (infinity, years before Christ)
// stays as it is.
func Timestamp(text []byte, utc bool) Value {
	const date = len("2006-01-02")
	if len(text) <= date || text[date] != ' ' || bytes.HasSuffix(text, []byte("BC")) {
		return Text(string(text))
	}
	time, zero := bytes.CutSuffix(text[date+1:], []byte("+00"))
	zone := ""
	if zero || utc {
		zone = "Z"
	}
	return Text(string(text[:date]) + "T" + string(time) + zone)
}
