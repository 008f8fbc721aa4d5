package json

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native/value"
)

// TooLongError is the error of a text that would have more than Max bytes.
type TooLongError struct{ Max int }

func (e *TooLongError) Error() string { return fmt.Sprintf("the text has more than %d bytes", e.Max) }

// Encode writes v, a tree of the types of package value, as one line of JSON.
// nil is null, and keys are sorted. A string that is not UTF-8, which JSON can't
// carry, is a [*value.Error] with its path below root. A text of more than max
// bytes is a [*TooLongError], noticed before much more is written.
func Encode(v any, root string, max int) ([]byte, error) {
	return Metered{Step: func(int) {}}.Encode(v, root, max)
}

// Encode is like the function [Encode]. It counts a step for each value, each
// chunk of a string and each comparison of two keys.
func (m Metered) Encode(v any, root string, max int) ([]byte, error) {
	e := encoder{max: max, step: m.Step}
	out, err := e.all(v, root)
	if err != nil || e.blocks == nil {
		return out, err
	}
	text := make([]byte, 0, e.written+len(out))
	e.each(out, func(chunk []byte) { text = append(text, chunk...) })
	return text, nil
}

// EncodeString is like [Metered.Encode], without a copy to make it a string.
func (m Metered) EncodeString(v any, root string, max int) (string, error) {
	e := encoder{max: max, step: m.Step}
	out, err := e.all(v, root)
	if err != nil || e.blocks == nil {
		return string(out), err
	}
	var text strings.Builder
	text.Grow(e.written + len(out))
	e.each(out, func(chunk []byte) { text.Write(chunk) })
	return text.String(), nil
}

// encoder writes a text. A long one lies in blocks until it is complete: to grow
// is to copy, and no copy may take long.
type encoder struct {
	max     int
	step    func(int)
	blocks  [][]byte // complete ones; what is behind them is passed along
	written int      // bytes in blocks
}

// all writes v and returns what is behind the blocks.
func (e *encoder) all(v any, root string) ([]byte, error) {
	out, err := e.appendValue(nil, v)
	switch {
	case err != nil:
		return nil, under(root, err)
	case e.over(len(out)):
		return nil, &TooLongError{e.max}
	}
	return out, nil
}

// over reports whether the text is too long when so many bytes follow the blocks.
func (e *encoder) over(n int) bool { return n > e.max-e.written }

// each passes on all that was written, chunk by chunk.
func (e *encoder) each(out []byte, do func(chunk []byte)) {
	for _, block := range append(e.blocks, out) {
		for chunk := range slices.Chunk(block, chunkBytes) {
			do(chunk)
			e.step(len(chunk) / bytesPerStep)
		}
	}
}

// blockBytes is the size from which on a block is complete.
const blockBytes = 1 << 20

// next begins a new block if out is a complete one.
func (e *encoder) next(out []byte) []byte {
	if len(out) < blockBytes {
		return out
	}
	e.blocks = append(e.blocks, out)
	e.written += len(out)
	return make([]byte, 0, blockBytes+blockBytes/4)
}

// appendValue returns errors with the path from v on: each container on the
// way back puts its own step in front.
func (e *encoder) appendValue(out []byte, v any) ([]byte, error) {
	e.step(1)
	if s, ok := v.(string); e.over(len(out)) || ok && e.over(len(out)+len(s)) {
		return nil, &TooLongError{e.max}
	}
	out = e.next(out)
	switch v := v.(type) {
	case nil, value.Null:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case float64:
		return appendNumber(out, v), nil
	case string:
		return e.appendString(out, v)
	case value.List:
		return e.appendList(out, v)
	case value.Map:
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

// appendString writes s chunk by chunk, because a long one takes long.
func (e *encoder) appendString(out []byte, s string) ([]byte, error) {
	out = append(out, '"')
	for s != "" {
		n := chunkOf(s)
		e.step(1 + n/bytesPerStep)
		if !utf8.ValidString(s[:n]) {
			return nil, &value.Error{Reason: "a string that is not UTF-8"}
		}
		if e.over(len(out) + n) {
			return nil, &TooLongError{e.max}
		}
		out = appendChunk(e.next(out), s[:n])
		s = s[n:]
	}
	return append(out, '"'), nil
}

// quotedBytes is how much of a string is written between two steps:
// with escapes six times as much.
const quotedBytes = 16 << 10

// chunkOf is how many bytes of s its first chunk has: whole characters.
func chunkOf(s string) int {
	if len(s) <= quotedBytes {
		return len(s)
	}
	n := quotedBytes
	for n > quotedBytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func appendChunk(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0xE2 {
			b := unquoted(out)
			if err := marshalTo(&b, s); err != nil {
				panic(err) // a valid UTF-8 string is always written
			}
			return b
		}
	}
	return append(out, s...)
}

// unquoted is where the standard library writes a string to, in one go: what it
// writes is kept without the quotes and the newline.
type unquoted []byte

func (u *unquoted) Write(p []byte) (int, error) {
	*u = append(*u, p[1:len(p)-2]...)
	return len(p), nil
}

func (e *encoder) appendList(out []byte, list value.List) (_ []byte, err error) {
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

func (e *encoder) appendMap(out []byte, m value.Map) (_ []byte, err error) {
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
	if refused, ok := errors.AsType[*value.Error](err); ok {
		refused.Path = step + refused.Path
	}
	return err
}
