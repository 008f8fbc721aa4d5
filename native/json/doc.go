// Package json turns JSON text into the types of package value and back. It
// serves native.json and every host: events come in, and results go out.
//
// Lists and nulls keep their kind both ways, empty lists too. Numbers are
// doubles: whole numbers up to 2^53 are exact, and none below 1e21 is written
// with an exponent.
//
// [Encode] and [Decode] are for the host's own data. What a script passes may be
// large, so for it there is [Metered], which counts its work and can be stopped.
package json

import (
	"bytes"
	"encoding/json"
	"io"
)

// Metered encodes and decodes under the limits of a run.
type Metered struct {
	// Step is called while a text is written or read, with a number of steps
	// that is in proportion to the work. It stops the work by a panic. Required.
	Step func(n int)
	// BigInteger is called with an integer from 2^53 on, as it is written, and
	// the double next to it. It returns the value that the text stands for. nil
	// makes it the double.
	BigInteger func(numeral string, nearest float64) any
}

// Marshal is json.Marshal of the standard library, for what the hosts print and
// answer, but leaves <, > and & as they are: none of these texts is put into
// HTML.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := marshalTo(&b, v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// marshalTo writes v and a newline to w in one go.
func marshalTo(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
