package lambda

import (
	"strings"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"go.uber.org/zap"

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

// Bounds of an error in a response or a record, in bytes: a script may raise any
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

// Bounds of an error in a record of the log, which collectors split at 16 KiB:
// each byte of the message may take six there.
const (
	loggedMessageMax = 1500
	loggedFramesMax  = 10
)

// errorFields are an error in a record of the log.
func errorFields(e *runtime.Error) []zap.Field {
	message, cut := e.Message, len(e.Stack) > loggedFramesMax
	if len(message) > loggedMessageMax {
		message, cut = strings.ToValidUTF8(message[:loggedMessageMax], ""), true
	}
	fields := []zap.Field{
		zap.String("errorType", string(e.Type)), zap.String("errorMessage", message), zap.Bool("retryable", e.Retryable),
	}
	if e.Code != "" {
		fields = append(fields, zap.String("errorCode", truncate(e.Code, codeMax)))
	}
	if len(e.Stack) > 0 {
		fields = append(fields, zap.Any("stack", e.Stack[:min(len(e.Stack), loggedFramesMax)]))
	}
	if cut {
		fields = append(fields, zap.Bool("truncated", true))
	}
	return fields
}
