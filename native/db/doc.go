// Package db is native.db: documents under a partition and a key, with a fresh
// random revision for every write.
//
// Three layers, from below:
//
//   - A [Store] is an engine. Each of its calls is one attempt, whose outcome
//     it tells exactly: applied, refused, not applied or unknown. Engines are
//     in the folders memory, sqlite and dynamo; dbtest holds the suite that all of them
//     pass.
//   - retry.go is the only place that repeats anything: how often, how far
//     apart, at whose expense, and what an unknown outcome means for each verb.
//   - [DB] and [Partition] are the verbs, in plain Go; module.go gives them to
//     scripts.
//
// # Guarantees
//
// A write is atomic, and so is a list of writes given to [DB.Atomic]. Reads
// see every write that was answered before they began, unless they are asked
// to be stale. A row whose time has run out is absent for every verb, whether
// or not it is still stored. A condition that does not hold is a result, never
// an error, and comes with the row in the way.
//
// # What each failure does
//
//	                         read        put, delete           add                 atomic
//	never left, turned down  repeated    repeated              repeated            repeated
//	answer lost              repeated    repeated, its own     never repeated:     repeated with the
//	                                     revision recognised   looked up instead   same token
//	cannot be resolved       raised      db_unknown            db_unknown          db_unknown
//
// A write of unknown outcome may still be on its way when the verb returns,
// even if a repetition of it was answered. Then what [RunScope.Write] returned is
// not called, and the rows of locks around it stay in place until they run out.
package db
