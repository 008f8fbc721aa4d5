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
// The password appears in no text: no driver parses a text that contains it,
// errors are made from the server's message or from a table of our own, and what
// is made passes a filter that knows every encoding of the password.
//
// # Outcomes
//
//	the server refuses                          not applied
//	nothing was sent                            not applied
//	the call had ended, bytes were held back    not applied
//	the connection fails during a read          sql_unavailable
//	the connection fails during a write         unknown: the locks around it are left to expire
//	the call ends, the server answers           what it answers
//	the call ends, the server doesn't answer    unknown
package sql
