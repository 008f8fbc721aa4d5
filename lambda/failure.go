package lambda

import (
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/tidelock-lua/tidelock/runtime"
)

// framesMax bounds the frames of a Lua stack in an error: the platform puts them
// into a header for its traces too.
const framesMax = 50

// failure returns an error for the platform, by value: of any other type
// aws-lambda-go would make a message of its own. exit ends the process after the
// response.
func failure(e *runtime.Error, exit bool) messages.InvokeResponse_Error {
	out := messages.InvokeResponse_Error{
		Type: string(e.Type), Message: e.Message,
		ShouldExit: exit,
	}
	for _, f := range e.Stack[:min(len(e.Stack), framesMax)] {
		out.StackTrace = append(out.StackTrace, &messages.InvokeResponse_Error_StackFrame{
			Path: f.File, Line: int32(f.Line), Label: f.Function,
		})
	}
	return out
}
