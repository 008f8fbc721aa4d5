package vm

// values is what packages keep for a run, each under a key of a type of its own.
type values []struct{ key, value any } // a few

// Value returns what was last kept for the run under key, nil if nothing was.
func (r *Run) Value(key any) any {
	for _, v := range r.values {
		if v.key == key {
			return v.value
		}
	}
	return nil
}

// SetValue keeps v for the rest of the run under key.
func (r *Run) SetValue(key, v any) {
	for i := range r.values {
		if r.values[i].key == key {
			r.values[i].value = v
			return
		}
	}
	r.values = append(r.values, struct{ key, value any }{key, v})
}
