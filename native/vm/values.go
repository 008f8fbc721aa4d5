package vm

// Value returns what was last kept for the run under key, nil if nothing was.
// Each package keeps its state of a run under a key of a type of its own.
func (r *Run) Value(key any) any { return r.values[key] }

// SetValue keeps v for the rest of the run under key.
func (r *Run) SetValue(key, v any) {
	if r.values == nil {
		r.values = map[any]any{}
	}
	r.values[key] = v
}
