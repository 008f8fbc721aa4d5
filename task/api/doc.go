// Package api is the HTTP API of a host of many tenants.
//
//	POST   /v1/tenants/{tenant}/scripts/{script}/invocations  run a script
//	GET    /v1/invocations                                    list invocations
//	GET    /v1/invocations/{id}                               read one, or wait for its result
//	DELETE /v1/invocations/{id}                               cancel one
//	GET    /v1/tenants/{tenant}/locks                         list locks
//	DELETE /v1/tenants/{tenant}/locks/{name}                  free one
//	POST   /v1/reload                                         reload the configuration
//
// A second port, for the platform alone, has /healthz, /readyz and /metrics.
//
// # Who may call
//
// A token is an operator's or a tenant's. What belongs to another tenant does
// not exist for a caller: the response is the same as for what isn't there.
// Without any tokens, every caller is an operator, but only this machine is
// answered, and no web page can make a browser call. Tokens have names: what a
// caller changes is in the audit log with the name of its token.
//
// # What a client can't do
//
// No request occupies the host for long: headers, bodies and responses have
// timeouts, and so has a body that no handler reads. The bytes of the events
// that are being received are bounded for each tenant. What is kept of a request
// with its result is small, whatever its header. A handler that panics is an
// error of its request alone.
//
// The API knows its [Host] by an interface: it starts invocations and finds
// them, but neither queues nor runs them.
package api
