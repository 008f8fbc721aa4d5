package runtime

import (
	"bytes"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
)

// EventBytesMax is the largest event in bytes, as on AWS Lambda.
const EventBytesMax = 6 << 20

// ParseEvent parses an event in JSON. It returns nil, no event, for null and for
// an empty text or white space. The error is one of [EventInvalid] and
// [EventTooLarge].
func ParseEvent(text []byte) (any, *Error) {
	if len(text) > EventBytesMax {
		return nil, Errorf(EventTooLarge, "the event has more than %d bytes", EventBytesMax)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	v, err := json.Decode(text)
	if err != nil {
		return nil, Errorf(EventInvalid, "the event is not JSON: %v", err)
	}
	if v == (value.Null{}) {
		return nil, nil
	}
	return v, nil
}
