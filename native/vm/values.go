package vm

// kept is a value that is kept for a run.
type kept struct{ key, value any }

// Value returns what was last kept for the run under key, nil if nothing was.
// Each package keeps its state of a run under a key of a type of its own.
func (r *Run) Value(key any) any {
	for _, k := range r.values { // a few
		if k.key == key {
			return k.value
		}
	}
	return nil
}

// SetValue keeps v for the rest of the run under key.
func (r *Run) SetValue(key, v any) {
	for i, k := range r.values {
		if k.key == key {
			r.values[i].value = v
			return
		}
	}
	r.values = append(r.values, kept{key, v})
}
