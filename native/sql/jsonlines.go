package sql

import (
	"context"
	"errors"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

// jsonLines are rows as a [stream.Source]: a JSON object in each line.
type jsonLines struct {
	rows *Rowset
	rest []byte // of the current line
}

// Read returns the next bytes, of one line at most.
func (l *jsonLines) Read(ctx context.Context, p []byte) (int, error) {
	if len(l.rest) == 0 {
		row, err := l.rows.Next(ctx)
		if err != nil {
			return 0, err
		}
		if l.rest, err = l.encode(row); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *jsonLines) encode(row []Value) ([]byte, error) {
	object := make(value.Map, len(row))
	for i, v := range row {
		object[l.rows.columns[i]] = v.Any()
	}
	most := l.rows.session.pool.db.options.ResultBytesMax
	text, err := json.Encode(object, "row", int(most))
	if err != nil {
		code := CodeFailed
		if _, ok := errors.AsType[*json.TooLongError](err); ok {
			code = CodeTooLarge
		}
		return nil, &outcome.Error{Code: code, Op: opStream, Key: l.rows.session.pool.name, Message: err.Error()}
	}
	return append(text, '\n'), nil
}

// Close closes the rows.
func (l *jsonLines) Close() error {
	l.rows.Close()
	return nil
}
