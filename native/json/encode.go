package json

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native"
)

// TooLongError is the error of a text that would have more than Max bytes.
type TooLongError struct{ Max int }

func (e *TooLongError) Error() string { return fmt.Sprintf("the text has more than %d bytes", e.Max) }

// Encode writes v, a tree of native's value types, as one line of JSON. nil is
// null. Keys are sorted. Strings that are not UTF-8 are refused with their
// path below root, as a *native.ValueError: JSON can't carry them. A text of
// more than max bytes is a *TooLongError, noticed before much more is written.
func Encode(v any, root string, max int) ([]byte, error) {
	return encodeText(v, root, max, func(int) {})
}

// encodeText calls step for each value, each piece of a string and each
// comparison of two keys; it may stop the encoding by a panic.
func encodeText(v any, root string, max int, step func(int)) ([]byte, error) {
	e := encoder{max, step}
	out, err := e.appendValue(nil, v)
	switch {
	case err != nil:
		return nil, under(root, err)
	case len(out) > max:
		return nil, &TooLongError{max}
	}
	return out, nil
}

type encoder struct {
	max  int
	step func(int)
}

// appendValue returns errors with the path from v on: each container on the
// way back puts its own step in front.
func (e encoder) appendValue(out []byte, v any) ([]byte, error) {
	e.step(1)
	if s, ok := v.(string); len(out) > e.max || ok && len(s) > e.max-len(out) {
		return nil, &TooLongError{e.max}
	}
	switch v := v.(type) {
	case nil, native.Null:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case float64:
		return appendNumber(out, v), nil
	case string:
		return e.appendString(out, v)
	case native.List:
		return e.appendList(out, v)
	case native.Map:
		return e.appendMap(out, v)
	}
	panic(fmt.Sprintf("json: %T is no value type", v))
}

// appendNumber writes whole numbers digit by digit as far as JavaScript does.
func appendNumber(out []byte, f float64) []byte {
	if f == 0 {
		return append(out, '0') // -0 too
	}
	if abs := math.Abs(f); abs >= 1e21 || abs < 1e-6 {
		return strconv.AppendFloat(out, f, 'g', -1, 64)
	}
	return strconv.AppendFloat(out, f, 'f', -1, 64)
}

// appendString writes s piece by piece, because a long one takes long.
func (e encoder) appendString(out []byte, s string) ([]byte, error) {
	out = append(out, '"')
	for s != "" {
		n := pieceOf(s)
		e.step(1 + n/bytesPerStep)
		if !utf8.ValidString(s[:n]) {
			return nil, &native.ValueError{Reason: "a string that is not UTF-8"}
		}
		if len(out)+n > e.max {
			return nil, &TooLongError{e.max}
		}
		out = appendPiece(out, s[:n])
		s = s[n:]
	}
	return append(out, '"'), nil
}

// pieceOf is how many bytes of s its first piece has: whole characters.
func pieceOf(s string) int {
	if len(s) <= pieceBytes {
		return len(s)
	}
	n := pieceBytes
	for n > pieceBytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func appendPiece(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0xE2 {
			quoted, err := marshalString(s)
			if err != nil {
				panic(err) // a valid UTF-8 string always marshals
			}
			return append(out, quoted[1:len(quoted)-1]...)
		}
	}
	return append(out, s...)
}

func marshalString(s string) ([]byte, error) {
	var b buffer
	e := stdjson.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return b[:max(len(b)-1, 0)], err // without the newline
}

type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func (e encoder) appendList(out []byte, list native.List) (_ []byte, err error) {
	out = append(out, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = e.appendValue(out, v); err != nil {
			return nil, under("["+strconv.Itoa(i+1)+"]", err)
		}
	}
	return append(out, ']'), nil
}

func (e encoder) appendMap(out []byte, m native.Map) (_ []byte, err error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		e.step(1)
		return strings.Compare(a, b)
	})
	out = append(out, '{')
	for i, k := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = e.appendString(out, k); err != nil {
			return nil, under("."+k, err)
		}
		if out, err = e.appendValue(append(out, ':'), m[k]); err != nil {
			return nil, under("."+k, err)
		}
	}
	return append(out, '}'), nil
}

// under puts one more step in front of the path of a refused value.
func under(step string, err error) error {
	if refused, ok := errors.AsType[*native.ValueError](err); ok {
		refused.Path = step + refused.Path
	}
	return err
}
