package sql

// WaitIdle waits for the background tasks: sessions that were returned are idle
// then.
func (db *DB) WaitIdle() { db.tasks.Wait() }
