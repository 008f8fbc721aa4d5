package lambda

import (
	"strings"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/tidelock-lua/tidelock/runtime"
)

// framesMax bounds the frames of a Lua stack in an error: the platform puts them
// into a header for its traces too.
const framesMax = 50

// failure returns an error for the platform, by value, as aws-lambda-go takes
// it. exit ends the process after the
// response.
func failure(e *runtime.Error, exit bool) messages.InvokeResponse_Error {
	out := messages.InvokeResponse_Error{
		Type: string(e.Type), Message: truncate(e.Message, messageMax),
		ShouldExit: exit,
	}
	for _, f := range e.Stack[:min(len(e.Stack), framesMax)] {
		out.StackTrace = append(out.StackTrace, &messages.InvokeResponse_Error_StackFrame{
			Path: f.File, Line: int32(f.Line), Label: f.Function,
		})
	}
	return out
}

// Bounds of an error in a response, in bytes: a script may raise any
// code, and a message may quote a path or a key.
const (
	codeMax    = 200
	messageMax = 8 << 10
)

func truncate(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max], "") + "..."
}
