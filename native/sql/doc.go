// Package sql is native.sql: databases that the operator has named, over
// placeholders, with transactions that end when their function does.
//
// From below:
//
//   - A [Driver] opens [Session]s with servers of one kind. Drivers are in the
//     folders postgres, mysql and sqlite; a program has those that it names.
//   - link.go is the way to the server. Every byte of a session goes through it,
//     so it can be cut at any time, and holds back what a call that has ended
//     would still send.
//   - pool.go keeps the sessions of one tenant with one database, session.go
//     makes their calls, rows.go and transaction.go are what scripts hold.
//   - module.go gives them to scripts.
//
// # Guarantees
//
// A call returns soon after its end, whatever the server does. At the end two
// things begin: over another connection the server is asked to stop (its cancel
// request, KILL QUERY), and 30 ms later the connection is cut. What the server
// answers within them is the outcome; else the outcome of a write is unknown.
//
// A statement is sent once. Nothing here repeats one: only a connection that
// has been idle is tried before it is used, and replaced if it is dead.
//
// What a session has in mind (settings, temporary tables, locks) is gone before
// it is used again, and a session whose statement was cut off is never used
// again. A transaction that is not committed by its function is rolled back
// before its error or interrupt goes on.
//
// The password is in no text: it never is a part of one that a driver parses,
// errors are made from the server's message or from a table of our own, and
// what is made passes a filter that knows every form of it.
//
// # Outcomes
//
//	the server says no                   not applied
//	nothing was sent                     not applied
//	the end held the bytes back          not applied
//	the connection broke under a read    sql_unavailable
//	the connection broke under a write   unknown: locks around it run out
//	the end passed, the server answered  what it answered
//	the end passed, and it didn't        unknown
package sql
