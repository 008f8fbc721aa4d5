// Package sql runs statements in databases that the operator has named: with
// placeholders, and with transactions that end when their function does. It is
// what native.sql stands on.
//
// From below:
//
//   - A [Driver] opens [Session]s with servers of one kind. Drivers are in the
//     folders postgres, mysql and sqlite; a program has those that it names.
//   - netconn.go is the network connection of a session. Every byte goes through
//     it, so it can be cut at any time, and holds back what a call that has ended
//     would still send.
//   - pool.go keeps the sessions of one tenant with one database, and session.go
//     makes their calls.
//   - [Conn], [Tx] and [Rowset] are what a run has; [OpenRows] closes what it
//     leaves open.
//
// # Guarantees
//
// A call returns soon after its end, whatever the server does. At the end two
// things begin: over another connection the server is asked to cancel (by its
// cancel request, or KILL QUERY), and 30 ms later the connection is cut. What the
// server answers within them is the outcome; without an answer the outcome of a
// write is unknown.
//
// A statement is sent once. Nothing here repeats one: only a connection that has
// been idle is pinged before it is used, and replaced if it is dead.
//
// The state of a session (settings, temporary tables, locks) is reset before the
// session is used again, and a session whose statement was interrupted is never
// used again. A transaction that its function doesn't commit is rolled back before
// the function's error or interrupt is passed on.
//
// No error names the user, the host, the database or the password. While a session
// is opened, texts are our own. Of a statement's errors a driver shows those texts
// of the server that are known, by their number or SQLSTATE, to quote nothing but
// the statement, its values, and what they refer to. No text is searched for the
// password: what a script sees doesn't depend on it. The rest is for
// [Options.Failed].
//
// Success is judged as strictly as failure. An answer has to fit its request: the
// tag, the number of rows, and the state of the session after it. If a driver panics
// over a malformed answer, that counts as no answer.
//
// # Outcomes
//
//	the server refuses                          not applied
//	nothing was sent                            not applied
//	the call had ended, bytes were held back    not applied
//	the connection fails during a read          sql_unavailable
//	the connection fails during a write         unknown: the locks around it are left to expire
//	an answer makes no sense                    as if the connection had failed
//	the call ends, the server answers           what it answers
//	the call ends, the server doesn't answer    unknown
package sql
