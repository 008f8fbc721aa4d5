package lualib

import (
	"math"
	"strconv"
	"strings"
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

// spaces are the characters for which C's isspace is true.
const spaces = " \t\n\v\f\r"

// numeralMax is the largest size of a numeral in bytes, spaces included: reading
// one can't be interrupted.
const numeralMax = 64 << 10

// parseNumber reads a numeral: decimal, or hexadecimal behind 0x, with an
// optional sign and surrounded by spaces or not.
func parseNumber(s string) (x float64, ok bool) {
	if len(s) > numeralMax {
		return 0, false
	}
	s = strings.Trim(s, spaces)
	digits := strings.TrimLeft(s, "+-")
	charset, hexadecimal := "0123456789.eE+-", false
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		charset, hexadecimal = "0123456789abcdefABCDEF.xXpP+-", true
	}
	// Go's parser knows more numerals than Lua's: inf, nan, 1_000.
	for i := range len(digits) {
		if strings.IndexByte(charset, digits[i]) < 0 {
			return 0, false
		}
	}
	if hexadecimal && !strings.ContainsAny(digits, "pP") {
		s += "p0" // Go requires the exponent
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return x, true
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
