package lualib

import (
	"math"
	"strconv"
)

// NumberText returns a number as text, as tostring and the operator .. do.
func NumberText(x float64) string { return formatNumber(x) }

// formatNumber returns a number as text: a whole number in full, another one
// with up to 14 digits.
func formatNumber(x float64) string {
	var digits [32]byte
	return string(appendNumber(digits[:0], x))
}

func appendNumber(to []byte, x float64) []byte {
	switch {
	case x != x:
		return append(to, "nan"...)
	case math.IsInf(x, 1):
		return append(to, "inf"...)
	case math.IsInf(x, -1):
		return append(to, "-inf"...)
	case x == math.Trunc(x) && math.Abs(x) < 1<<63:
		return strconv.AppendInt(to, int64(x), 10)
	}
	return strconv.AppendFloat(to, x, 'g', 14, 64)
}

// digitValue returns the value of a digit, letters counting from 10, or 36 if
// c is none.
func digitValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return int(c|0x20-'a') + 10
	}
	return 36
}
