package sql

// Settle waits until nothing goes on in the background: what was given back is
// idle then.
func (db *DB) Settle() { db.working.Wait() }
