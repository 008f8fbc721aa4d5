package sql

import (
	"strconv"
	"strings"
)

// exactMax is the largest whole number up to which a Lua number is exact.
const exactMax = 1 << 53

// Integer is a whole number as scripts get it: a number, or its digits as a
// string where a number would round it.
func Integer(n int64) any {
	if n < -exactMax || n > exactMax {
		return strconv.FormatInt(n, 10)
	}
	return float64(n)
}

// Unsigned is like [Integer].
func Unsigned(n uint64) any {
	if n > exactMax {
		return strconv.FormatUint(n, 10)
	}
	return float64(n)
}

// Digits is a whole number in decimal digits as scripts get it, see [Integer].
func Digits(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Integer(n)
	}
	return text
}

// Moment is a date and time as servers write it ("2024-05-01 12:00:00.5+00")
// in the form of RFC 3339. One without an offset gets none, or Z if the text is
// known to be in UTC. What isn't of that form (infinity, years before Christ)
// stays as it is.
func Moment(text string, utc bool) string {
	const date = len("2006-01-02")
	if len(text) <= date || text[date] != ' ' || strings.HasSuffix(text, "BC") {
		return text
	}
	moment := text[:date] + "T" + text[date+1:]
	if zero, ok := strings.CutSuffix(moment, "+00"); ok {
		return zero + "Z"
	}
	if utc {
		return moment + "Z"
	}
	return moment
}
