// Package db is native.db: documents under a partition and a key, with a fresh
// random revision for every write.
//
// There are three layers. From below:
//
//   - A [Store] is an engine. Each of its calls is one attempt, and has one of
//     four outcomes: applied, refused, not applied or unknown. The engines are
//     in the folders memory, sqlite and dynamo; all of them pass the contract
//     in dbtest.
//   - retry.go repeats attempts, and is the only place that does: how often, how
//     far apart, at whose expense, and what an unknown outcome means for each
//     operation.
//   - [DB] and [Partition] are the operations, in plain Go. Scripts reach them
//     through package dbmodule, hosts through [DB.Reserved].
//
// # Guarantees
//
// A write is atomic, and so is a list of writes passed to [DB.Atomic]. A read
// sees every write that was answered before the read began, unless the caller
// allows it to be stale. A row that has expired is absent for every operation,
// whether or not it is still stored. A condition that does not hold is a result,
// never an error, and comes with the conflicting row.
//
// # What each failure does
//
//	                      read        put, delete           add                 atomic
//	not sent, rejected    repeated    repeated              repeated            repeated
//	response lost         repeated    repeated, its own     never repeated:     repeated with the
//	                                  revision recognised   looked up instead   same token
//	still unknown         raised      db_unknown            db_unknown          db_unknown
//
// A write of unknown outcome may take effect even after the operation has
// returned, and even if a repetition of it was answered: it is in doubt. Then the
// function that [RunScope.Write] returned is not called, and the locks around the
// write are not released but run out.
package db
