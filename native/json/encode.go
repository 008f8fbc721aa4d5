package json

import (
	stdjson "encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native"
)

// Encode writes v, a tree of native's value types, as one line of JSON. nil is
// null. Keys are sorted. Strings that are not UTF-8 are refused with their
// path below root, as a *native.ValueError: JSON can't carry them.
func Encode(v any, root string) ([]byte, error) {
	out, refused := appendValue(nil, v)
	if refused != nil {
		refused.Path = root + refused.Path
		return nil, refused
	}
	return out, nil
}

// appendValue returns an error with the path from v on: each container on the
// way back puts its own step in front.
func appendValue(out []byte, v any) ([]byte, *native.ValueError) {
	switch v := v.(type) {
	case nil, native.Null:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case float64:
		return appendNumber(out, v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, &native.ValueError{Reason: "a string that is not UTF-8"}
		}
		return appendString(out, v), nil
	case native.List:
		return appendList(out, v)
	case native.Map:
		return appendMap(out, v)
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

func appendString(out []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0xE2 {
			plain = false
			break
		}
	}
	if plain {
		out = append(out, '"')
		out = append(out, s...)
		return append(out, '"')
	}
	quoted, err := marshalString(s)
	if err != nil {
		panic(err) // a valid UTF-8 string always marshals
	}
	return append(out, quoted...)
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

func appendList(out []byte, list native.List) (_ []byte, err *native.ValueError) {
	out = append(out, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendValue(out, v); err != nil {
			err.Path = "[" + strconv.Itoa(i+1) + "]" + err.Path
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func appendMap(out []byte, m native.Map) (_ []byte, err *native.ValueError) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out = append(out, '{')
	for i, k := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, k), ':')
		if out, err = appendValue(out, m[k]); err != nil {
			err.Path = "." + k + err.Path
			return nil, err
		}
	}
	return append(out, '}'), nil
}
