package vm

// Exceeded ends the whole run, because limit with its value was exceeded.
func (r *Run) Exceeded(limit Limit, value int64) {
	r.setKill(&Kill{Limit: limit, Value: value})
	r.Interrupt()
}
