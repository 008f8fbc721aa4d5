// Package native is what the authors of native modules read: how a Go function
// becomes a field of the global table native, and what it may count on.
//
//	func New() native.Module {
//		return native.Module{Name: "clock", Funcs: []native.Func{
//			{Name: "remaining", Do: remaining},
//		}}
//	}
//
//	func remaining(c *native.Call) error { ... return c.Return(v) }
//
// Every call passes one gate before it acts: both clocks are read, and a call
// that comes after the end of a lease, deadline or limit is not made. A call
// that takes long asks for [Call.Context], which is cancelled at the nearest
// end; a call that may change something outside says so by [Call.Write], so
// that locks around it know whether a write is still out.
//
// Trouble is returned as an [*outcome.Error], and a wrong argument raised by
// [Call.BadArg]; neither names anything of another tenant.
package native
