package value

// Error says that a Lua value can't be data, and where.
type Error struct {
	// Path leads to the offending value: "value.items[3].cb".
	Path string
	// Reason says what is wrong with it: "function".
	Reason string
}

func (e *Error) Error() string { return e.Path + ": " + e.Reason }
