package runtime

import "fmt"

// ErrorType is the kind of an error of a run: a stable name that workflows and
// alarms can branch on.
type ErrorType string

// The error types of all hosts.
const (
	SyntaxError       ErrorType = "Script.SyntaxError"
	RuntimeError      ErrorType = "Script.RuntimeError"
	Raised            ErrorType = "Script.Raised" // by the script, with a value that isn't a string
	Timeout           ErrorType = "Script.Timeout"
	LimitExceeded     ErrorType = "Script.LimitExceeded"
	Cancelled         ErrorType = "Script.Cancelled"
	EventInvalid      ErrorType = "Event.Invalid"
	EventTooLarge     ErrorType = "Event.TooLarge"
	NotSerializable   ErrorType = "Result.NotSerializable"
	ResultTooLarge    ErrorType = "Result.TooLarge"
	TenantUnknown     ErrorType = "Tenant.Unknown"
	TenantMismatch    ErrorType = "Tenant.Mismatch"
	TenantThrottled   ErrorType = "Tenant.Throttled"
	ScriptNotFound    ErrorType = "Script.NotFound"
	HostShutdown      ErrorType = "Host.Shutdown"
	HostConfigInvalid ErrorType = "Host.ConfigInvalid"
	HostInternal      ErrorType = "Host.Internal"
)

// errorTypes holds how hosts report each type: as an HTTP status and as a
// process's exit code.
var errorTypes = map[ErrorType]struct {
	retryable  bool
	httpStatus int
	exitCode   int
}{
	SyntaxError:       {false, 422, 1},
	RuntimeError:      {false, 422, 1},
	Raised:            {false, 422, 1},
	Timeout:           {false, 504, 124},
	LimitExceeded:     {false, 422, 1},
	Cancelled:         {false, 499, 130},
	EventInvalid:      {false, 400, 2},
	EventTooLarge:     {false, 413, 2},
	NotSerializable:   {false, 500, 1},
	ResultTooLarge:    {false, 413, 1},
	TenantUnknown:     {false, 404, 2},
	TenantMismatch:    {false, 403, 2},
	TenantThrottled:   {true, 429, 75},
	ScriptNotFound:    {false, 404, 2},
	HostShutdown:      {true, 503, 143},
	HostConfigInvalid: {false, 500, 2},
	HostInternal:      {false, 500, 125},
}

// HTTPStatus returns the status of an HTTP host's response.
func (t ErrorType) HTTPStatus() int { return errorTypes[t].httpStatus }

// ExitCode returns the exit code of a process.
func (t ErrorType) ExitCode() int { return errorTypes[t].exitCode }

// Error is the error of a run.
type Error struct {
	Type    ErrorType
	Message string
	// Code is the code of the error table that the script raised, "" without one.
	Code string
	// Retryable is set if the same invocation may succeed later.
	Retryable bool
	// File, Line and Column are where it happened; "" and 0 mean unknown.
	File         string
	Line, Column int
	// Stack is the Lua stack, the innermost frame first.
	Stack []Frame
	// Cause is the error behind this one, for the host's log: no result shows it.
	// It is nil for most errors.
	Cause error
}

// Frame is one function on a Lua stack.
type Frame struct {
	File     string `json:"file"`     // "" for calls that are left out
	Line     int    `json:"line"`     // 0 for calls that are left out
	Function string `json:"function"` // its name, or "function at file:line" of its definition
}

func (e *Error) Error() string { return string(e.Type) + ": " + e.Message }

// Errorf returns an error of a type. The type determines whether it is retryable.
func Errorf(t ErrorType, format string, args ...any) *Error {
	return &Error{Type: t, Message: fmt.Sprintf(format, args...), Retryable: errorTypes[t].retryable}
}

// Shutdown is the cause with which a host that shuts down cancels its runs. They
// end with [HostShutdown] instead of [Cancelled].
type Shutdown struct{}

func (Shutdown) Error() string { return "the host is shutting down" }
