package lualib

import (
	"math"
	"strconv"
	"strings"
)

func stringFormat(c call) int {
	format := c.text(1)
	b := buffer{run: c.run()}
	for argument := 1; ; {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			b.text(format)
			return c.retText(b.String())
		}
		b.text(format[:i])
		format = format[i+1:]
		if strings.HasPrefix(format, "%") {
			b.char('%')
			format = format[1:]
			continue
		}
		d, n := c.directive(format)
		format = format[n:]
		argument++
		c.formatArgument(&b, d, argument)
	}
}

// directive is what follows a % in a format, as in C.
type directive struct {
	left, plus, space, alternate, zero bool
	width, precision                   int // precision is -1 if there is none
	verb                               byte
}

// directive reads the directive that s begins with and returns its size.
func (c call) directive(s string) (directive, int) {
	d := directive{precision: -1}
	i := 0
	for ; i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0; i++ {
		switch s[i] {
		case '-':
			d.left = true
		case '+':
			d.plus = true
		case ' ':
			d.space = true
		case '#':
			d.alternate = true
		case '0':
			d.zero = true
		}
	}
	if i > len("-+ #0") {
		c.raise("invalid format (repeated flags)")
	}
	d.width, i = twoDigits(s, i)
	if i < len(s) && s[i] == '.' {
		d.precision, i = twoDigits(s, i+1)
	}
	if i < len(s) && '0' <= s[i] && s[i] <= '9' {
		c.raise("invalid format (width or precision too long)")
	}
	if i == len(s) {
		c.raise("invalid option '%%' to 'format'")
	}
	d.verb = s[i]
	return d, i + 1
}

// twoDigits reads a number of at most two digits at s[i:] and returns it with
// the index behind it.
func twoDigits(s string, i int) (n, next int) {
	for end := min(i+2, len(s)); i < end && '0' <= s[i] && s[i] <= '9'; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n, i
}

// formatArgument writes argument n as d says.
func (c call) formatArgument(b *buffer, d directive, n int) {
	switch d.verb {
	case 'd', 'i':
		x := c.wholeNumber(n, 1<<63)
		d.integer(b, d.sign(x < 0), strconv.FormatUint(uint64(math.Abs(x)), 10))
	case 'o':
		d.octal(b, c.bits(n))
	case 'u':
		d.integer(b, "", strconv.FormatUint(c.bits(n), 10))
	case 'x', 'X':
		d.hexadecimal(b, c.bits(n))
	case 'c':
		d.zero = false
		d.pad(b, "", string([]byte{byte(int64(c.wholeNumber(n, 1<<63)))}))
	case 'e', 'E', 'f', 'F', 'g', 'G':
		d.float(b, c.number(n))
	case 'q':
		quote(b, c.text(n))
	case 's':
		d.text(b, c.anyText(n))
	default:
		c.raise("invalid option '%%%s' to 'format'", string([]byte{d.verb}))
	}
}

// wholeNumber reads a number without its fraction, from -1<<63 up to below
// limit.
func (c call) wholeNumber(n int, limit float64) float64 {
	x := math.Trunc(c.number(n))
	if !(-1<<63 <= x && x < limit) {
		c.argumentError(n, "number out of range")
	}
	return x
}

// bits reads a number for the unsigned verbs: of a negative one, the bits in
// two's complement, as in C.
func (c call) bits(n int) uint64 {
	x := c.wholeNumber(n, 1<<64)
	if x < 0 {
		return uint64(int64(x))
	}
	return uint64(x)
}

// anyText reads any value as text, as tostring does.
func (c call) anyText(n int) string {
	if n > c.GetTop() {
		c.typeError(n, "string")
	}
	return ToString(c.LState, c.Get(n))
}

// sign returns the sign of a number, or the space in its place.
func (d directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.plus:
		return "+"
	case d.space:
		return " "
	}
	return ""
}

// integer writes digits behind a sign or prefix.
func (d directive) integer(b *buffer, prefix, digits string) {
	if d.precision >= 0 {
		if d.zero = false; d.precision == 0 && digits == "0" {
			digits = ""
		}
		digits = strings.Repeat("0", max(0, d.precision-len(digits))) + digits
	}
	d.pad(b, prefix, digits)
}

// octal writes x, with # so that it begins with a zero.
func (d directive) octal(b *buffer, x uint64) {
	digits := strconv.FormatUint(x, 8)
	if d.alternate {
		if x != 0 && d.precision <= len(digits) {
			digits = "0" + digits
		}
		if d.precision == 0 {
			d.precision = 1
		}
	}
	d.integer(b, "", digits)
}

func (d directive) hexadecimal(b *buffer, x uint64) {
	digits, prefix := strconv.FormatUint(x, 16), ""
	if d.alternate && x != 0 {
		prefix = "0x"
	}
	if d.verb == 'X' {
		digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
	}
	d.integer(b, prefix, digits)
}

func (d directive) float(b *buffer, x float64) {
	var digits string
	switch {
	case math.IsInf(x, 0):
		digits, d.zero = "inf", false
	case x != x:
		digits, d.zero = "nan", false
	default:
		digits = d.decimal(math.Abs(x))
	}
	if 'A' <= d.verb && d.verb <= 'Z' {
		digits = strings.ToUpper(digits)
	}
	d.pad(b, d.sign(math.Signbit(x) && x == x), digits)
}

// decimal returns the digits of a finite, positive number.
func (d directive) decimal(x float64) string {
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	verb := d.verb | 0x20
	if verb == 'g' && d.alternate {
		// Like %e or %f, whichever %g would be, with its zeros kept.
		precision = max(precision, 1)
		digits := strconv.FormatFloat(x, 'e', precision-1, 64)
		exponent, _ := strconv.Atoi(digits[strings.IndexByte(digits, 'e')+1:])
		verb = 'e'
		if precision--; -4 <= exponent && exponent <= precision {
			verb = 'f'
			precision -= exponent
		}
	}
	digits := strconv.FormatFloat(x, verb, precision, 64)
	if d.alternate && strings.IndexByte(digits, '.') < 0 {
		mantissa, exponent, scientific := strings.Cut(digits, "e")
		digits = mantissa + "."
		if scientific {
			digits += "e" + exponent
		}
	}
	return digits
}

func (d directive) text(b *buffer, s string) {
	if d.precision >= 0 {
		s = s[:min(len(s), d.precision)]
	}
	d.zero = false
	d.pad(b, "", s)
}

// pad writes prefix and digits in the field's width: zeros go between them,
// spaces before or behind.
func (d directive) pad(b *buffer, prefix, digits string) {
	missing := max(0, d.width-len(prefix)-len(digits))
	padding := blanks[:missing]
	switch {
	case d.left:
		b.text(prefix)
		b.text(digits)
		b.text(padding)
	case d.zero:
		b.text(prefix)
		b.text(zeros[:missing])
		b.text(digits)
	default:
		b.text(padding)
		b.text(prefix)
		b.text(digits)
	}
}

// Padding for the widest field.
var (
	blanks = strings.Repeat(" ", 99)
	zeros  = strings.Repeat("0", 99)
)

// quote writes s as a literal that Lua reads back.
func quote(b *buffer, s string) {
	b.char('"')
	written := 0
	for i := range len(s) {
		if i%blockBytes == blockBytes-1 {
			b.step(blockBytes / bytesPerStep)
		}
		escape := ""
		switch s[i] {
		case '"':
			escape = `\"`
		case '\\':
			escape = `\\`
		case '\n':
			escape = "\\\n"
		case '\r':
			escape = `\r`
		case 0:
			escape = `\000`
		default:
			continue
		}
		b.text(s[written:i])
		b.text(escape)
		written = i + 1
	}
	b.text(s[written:])
	b.char('"')
}
