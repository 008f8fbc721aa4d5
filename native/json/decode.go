// Package json turns text into the values of package native and back. It
// serves native.json and every host: events come in, results go out.
//
// Lists and nulls keep their kind both ways, empty ones too. Numbers are
// doubles: whole numbers up to 2^53 are exact, and none is ever written in
// exponent form below 1e21.
package json

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native"
)

// DepthMax is how many lists and maps may lie in each other, both ways.
const DepthMax = 200

// Decode reads one JSON text. Nothing but white space may follow it. An empty
// text is an error; hosts treat it as "no event" before they get here.
func Decode(text []byte) (any, error) {
	return decodeText(text, func(int) {})
}

// decodeText calls step for each value and each piece of the text; it may stop
// the decoding by a panic.
func decodeText(text []byte, step func(int)) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	d := decoder{stdjson.NewDecoder(&pieces{text, step}), step}
	d.UseNumber()
	v, err := d.value(0)
	if err != nil {
		return nil, d.explain(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more text after the value, at byte %d", d.InputOffset())
	}
	return v, nil
}

// pieces is a text that is read in pieces, so that a long string in it can be
// interrupted.
type pieces struct {
	rest []byte
	step func(int)
}

const (
	pieceBytes   = 64 << 10
	bytesPerStep = 64
)

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.rest[:min(len(p.rest), pieceBytes)])
	p.rest = p.rest[n:]
	p.step(1 + n/bytesPerStep)
	return n, nil
}

type decoder struct {
	*stdjson.Decoder
	step func(int)
}

func (d decoder) explain(err error) error {
	var syntax *stdjson.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%w, at byte %d", err, syntax.Offset)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return errors.New("the text ends too soon")
	}
	return fmt.Errorf("%w, at byte %d", err, d.InputOffset())
}

func (d decoder) value(depth int) (any, error) {
	d.step(1)
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		return native.Null{}, nil
	case bool, string:
		return t, nil
	case stdjson.Number:
		f, err := t.Float64()
		if err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("the number %.40s is too large", t.String())
		}
		return f, nil
	}
	if depth == DepthMax {
		return nil, fmt.Errorf("more than %d lists and maps deep", DepthMax)
	}
	if token == stdjson.Delim('[') {
		return d.list(depth + 1)
	}
	return d.stringMap(depth + 1)
}

func (d decoder) list(depth int) (any, error) {
	list := native.List{}
	for d.More() {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func (d decoder) stringMap(depth int) (any, error) {
	m := native.Map{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		m[key.(string)] = v
	}
	_, err := d.Token()
	return m, err
}
