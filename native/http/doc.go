// Package http is native.http: requests to hosts that the operator has allowed.
//
//	policy.go    what a tenant may reach: names, ports, single addresses
//	target.go    from the URL of a script, or of a redirect, to a host in one spelling
//	guard.go     which addresses may be dialled, whatever name has led to them
//	client.go    one way out per tenant: connections, requests in flight
//	dial.go      one connection; the last look at the clocks
//	exchange.go  one request and its redirects
//	answer.go    what has come back
//	trouble.go   what went wrong, in codes for scripts
//	module.go    the face for Lua
//
// # What is refused, and where
//
// A URL is looked at before anything else happens: a host that isn't on the
// tenant's list is never resolved, so nothing leaks through its name. The same
// look is taken at each redirect. Then each connection is looked at once more
// when its address is known, after DNS and before the first packet: private,
// local, metadata and transition addresses are refused whatever name leads
// there. Only an entry of the list that is a single address opens one of them.
// The addresses in [Options.Blocked] are refused even then.
//
// Connections of two tenants never meet, nor do those of one tenant before and
// after a change of its policy.
//
// # What each failure does
//
//	not allowed                     net_blocked, and [Events.Blocked]; nothing was sent
//	no such name, no answer of DNS  net_dns; nothing was sent
//	refused by the host             net_refused; nothing was sent
//	TLS can't be agreed on          net_tls; nothing was sent
//	too slow                        net_timeout
//	answer too large                net_too_large
//	too many at once                net_busy; nothing was sent
//	anything else                   net_failed
//	the run comes to an end         the connection is closed, the end is raised
//
// A request that may change something (any but GET, HEAD and OPTIONS) has an
// outcome once a status line has come, whatever it says, or when nothing of it
// was sent. Without an outcome the error says applied = "unknown", and the rows
// of the locks around the call run out by themselves; so do they when the call
// is over and a part of the request is yet to be sent.
//
// A connection that is being made is given up with its request. An answer with
// status 101 is none: its connection would be left to whoever reads it, and to
// no deadline.
//
// The clocks are read right before bytes go out. Those of a call that has ended
// meanwhile (the process was stopped) are held back.
//
// # What is sent twice
//
// Nothing, except by net/http's own rule: if a connection that was kept from an
// earlier request turns out to be closed, a request of which nothing was written
// is sent over a new one; and one of which no answer came, if it is a GET, HEAD
// or OPTIONS, or has the header Idempotency-Key or X-Idempotency-Key.
package http
