package vm

// Charge is called before a library function makes a value of n bytes, and
// ends the run if that is more than its memory limit.
func (r *Run) Charge(n int64) {
	if limit := r.limits.MemoryBytes; limit > 0 && (n > limit || n < 0) {
		r.Exceeded(Memory, limit)
	}
}

// Exceeded ends the whole run, because limit with its value was exceeded.
func (r *Run) Exceeded(limit Limit, value int64) {
	r.setKill(&Kill{Limit: limit, Value: value})
	r.Interrupt()
}
