package vm

// RaiseLimit ends the whole run, because limit with its value was exceeded.
func (r *Run) RaiseLimit(limit Cause, value int64) {
	r.setKill(&Interrupt{Cause: limit, Value: value})
	r.RaiseInterrupt()
}
