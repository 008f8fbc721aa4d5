// Package http makes requests for tenants, to hosts that the operator has allowed.
// It is what native.http stands on.
//
//	policy.go     what a tenant may reach: names, ports, single addresses
//	target.go     from the URL of a script, or of a redirect, to a host in one spelling
//	filter.go     which addresses may be dialled, whatever name has led to them
//	blocklist.go  what no policy opens
//	client.go     the transport of each tenant, and its requests in flight
//	dial.go       one connection; the last check of the clocks before bytes go out
//	fetch.go      one request and its redirects
//	response.go   the response
//	errors.go     the errors, with codes for scripts
//
// # What is refused, and where
//
// A URL is checked before anything else happens: a host that isn't on the
// tenant's list is never resolved, so nothing leaks through its name. Each
// redirect is checked in the same way. Then each connection is checked once its
// address is known, after DNS and before the first packet: private, local,
// metadata and transition addresses are refused whatever name leads there. Only
// an entry of the list that is a single address opens one of them. The addresses
// in [Options.Blocked] are refused even then.
//
// Connections are never shared by two tenants, nor by one tenant before and after
// a change of its policy.
//
// # What each failure does
//
//	not allowed                     net_blocked, and [Events.Blocked]; nothing was sent
//	unknown name, no reply of DNS   net_dns; nothing was sent
//	connection refused              net_refused; nothing was sent
//	TLS handshake failed            net_tls; nothing was sent
//	too slow                        net_timeout
//	response too large              net_too_large
//	too many requests in flight     net_busy; nothing was sent
//	anything else                   net_failed
//	the run is interrupted          the connection is closed, the interrupt is raised
//
// A request that isn't safe (any but GET, HEAD and OPTIONS) has a known outcome
// once a status line has come, whatever it says, or when nothing of it was sent.
// Otherwise the error says applied = "unknown", and the locks around the call are
// left to expire; so they are when the call returns while a part of the request is
// yet to be sent.
//
// A connection that is being made is abandoned with its request. A response
// with status 101 is an error: its connection would belong to whatever reads
// it, without any deadline.
//
// The clocks are read right before bytes go out. If the call has ended meanwhile,
// because the process was stopped, they are held back.
//
// # What is sent twice
//
// Nothing, except by net/http's own rule: if a connection that was kept from an
// earlier request turns out to be closed, a request of which nothing was written
// is sent over a new one; so is one that got no response, if it is a GET, HEAD or
// OPTIONS, or has the header Idempotency-Key or X-Idempotency-Key.
package http
