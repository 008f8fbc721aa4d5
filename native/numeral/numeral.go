// Package numeral is what Lua 5.1 makes of numbers where Go or the interpreter
// differs. Whatever converts a string to a number does it here: arithmetic, the
// bounds of a for, tonumber, the compiler and the arguments of library functions.
package numeral

import (
	"math"
	"strconv"
	"strings"
)

// Spaces are the characters for which C's isspace is true.
const Spaces = " \t\n\v\f\r"

// Max is the largest size of a numeral in bytes, without the spaces around it. A
// longer text is none: reading one can't be interrupted, and no program has
// such numbers.
const Max = 400

// spacesMax is how many spaces there may be on each side.
const spacesMax = 400

// Trim removes the spaces around s. It reports false if s is too long for a
// numeral. It reads few bytes, however long s is.
func Trim(s string) (string, bool) {
	if len(s) > Max+2*spacesMax {
		return "", false
	}
	s = strings.Trim(s, Spaces)
	return s, len(s) <= Max
}

// Parse reads a numeral: decimal, or hexadecimal behind 0x, with an optional sign
// and surrounded by spaces or not.
func Parse(s string) (x float64, ok bool) {
	if s, ok = Trim(s); !ok {
		return 0, false
	}
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
