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
	kind   Type
	number float64 // of a number; 1 is true
	text   string
}

// Type is the type of a [Value].
type Type uint8

// Types of values.
const (
	TypeNull Type = iota
	TypeBool
	TypeNumber
	TypeText
)

// Bool returns a truth value.
func Bool(b bool) Value {
	v := Value{kind: TypeBool}
	if b {
		v.number = 1
	}
	return v
}

// Number returns a number.
func Number(f float64) Value { return Value{kind: TypeNumber, number: f} }

// Text returns a string of any bytes.
func Text(s string) Value { return Value{kind: TypeText, text: s} }

// Type returns the type of v.
func (v Value) Type() Type { return v.kind }

// Bool returns a value of [TypeBool], false for any other.
func (v Value) Bool() bool { return v.kind == TypeBool && v.number != 0 }

// Number returns a value of [TypeNumber], 0 for any other.
func (v Value) Number() float64 {
	if v.kind != TypeNumber {
		return 0
	}
	return v.number
}

// Text returns a value of [TypeText], "" for any other.
func (v Value) Text() string { return v.text }

// Any returns v as a [value.Null], bool, float64 or string.
func (v Value) Any() any {
	switch v.kind {
	case TypeBool:
		return v.number != 0
	case TypeNumber:
		return v.number
	case TypeText:
		return v.text
	}
	return value.Null{}
}

// String returns v as text.
func (v Value) String() string {
	if v.kind == TypeNull {
		return "NULL"
	}
	return fmt.Sprint(v.Any())
}

// Integer returns a whole number as scripts get it: a number, or its digits as a
// string where a number would round it.
func Integer(n int64) Value {
	if n < -exactMax || n > exactMax {
		return Text(strconv.FormatInt(n, 10))
	}
	return Number(float64(n))
}

// Unsigned is [Integer] for a number without a sign.
func Unsigned(n uint64) Value {
	if n > exactMax {
		return Text(strconv.FormatUint(n, 10))
	}
	return Number(float64(n))
}

// Digits is [Integer] for a number in decimal digits. Other text stays as it is.
func Digits(text []byte) Value {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return Integer(n)
	}
	return Text(string(text))
}

// Timestamp returns a date and time as servers write it ("2024-05-01
// 12:00:00.5+00") in the form of RFC 3339. One without an offset gets none, or Z
// if utc says that it is in UTC. Other text (infinity, years before Christ) stays
// as it is.
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
