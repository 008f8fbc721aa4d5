package outcome

import (
	"errors"
	"strings"
)

// Detailed returns an error whose text has the causes below it too, for an
// operator's log: those hold addresses and other things that no script may see.
func Detailed(err error) error {
	if err == nil {
		return nil
	}
	return detailed{err}
}

type detailed struct{ error }

func (d detailed) Unwrap() error { return d.error }

func (d detailed) Error() string {
	text := d.error.Error()
	for err := d.error; err != nil; {
		known, ok := errors.AsType[*Error](err)
		if !ok {
			break
		}
		if err = known.Cause; err != nil && !strings.Contains(text, err.Error()) {
			text += ": " + err.Error()
		}
	}
	return text
}
