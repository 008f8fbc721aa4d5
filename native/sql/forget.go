package sql

import "github.com/tidelock-lua/tidelock/tenant"

// Forget makes the next run that opens a connection of a tenant do so with what
// [Options.Connections] returns then. Runs that have opened it keep what they
// have; its idle connections are closed.
func (db *DB) Forget(id tenant.ID, name string) {
	key := poolKey{id, name}
	db.mu.Lock()
	p := db.pools[key]
	delete(db.pools, key)
	db.mu.Unlock()
	if p != nil {
		p.close()
	}
}
