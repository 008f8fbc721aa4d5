package runtime

import "fmt"

// ErrorType says in one stable word what went wrong with a run, so that
// workflows and alarms can branch on it.
type ErrorType string

// The error types of all hosts.
const (
	SyntaxError       ErrorType = "Script.SyntaxError"
	RuntimeError      ErrorType = "Script.RuntimeError"
	Raised            ErrorType = "Script.Raised" // by the script, with a table or another value that is no string
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

// outcomes is how each type leaves a host: as an HTTP status and as a
// process's exit code.
var outcomes = map[ErrorType]struct {
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

// HTTPStatus is the status that an HTTP host answers with.
func (t ErrorType) HTTPStatus() int { return outcomes[t].httpStatus }

// ExitCode is the code that a process ends with.
func (t ErrorType) ExitCode() int { return outcomes[t].exitCode }

// Error is why a run has no value.
type Error struct {
	Type    ErrorType
	Message string
	// Code is the code of the error table that the script raised, if it had one.
	Code string
	// Retryable says that the same invocation may succeed later.
	Retryable bool
	// File, Line and Column are where it happened, as far as that is known:
	// "" and 0 if not.
	File         string
	Line, Column int
	// Stack is the Lua stack, the innermost frame first.
	Stack []Frame
}

// Frame is one function on a Lua stack.
type Frame struct {
	File     string `json:"file"` // "" for a function of the host
	Line     int    `json:"line"` // 0 for a function of the host
	Function string `json:"function"`
}

func (e *Error) Error() string { return string(e.Type) + ": " + e.Message }

// Errorf makes an error of a type, retryable as the type says.
func Errorf(t ErrorType, format string, args ...any) *Error {
	return &Error{Type: t, Message: fmt.Sprintf(format, args...), Retryable: outcomes[t].retryable}
}

// Shutdown is the cause by which a host that is going away cancels its runs:
// they end with [HostShutdown] instead of [Cancelled].
type Shutdown struct{}

func (Shutdown) Error() string { return "the host is shutting down" }
