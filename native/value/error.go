package value

// Error is the error for a Lua value that can't be data, and says where it lies.
type Error struct {
	// Path leads to the offending value: "value.items[3].cb".
	Path string
	// Reason says what is wrong with it: "function".
	Reason string
}

func (e *Error) Error() string { return e.Path + ": " + e.Reason }
