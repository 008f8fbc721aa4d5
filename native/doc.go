// Package native is what the authors of native modules read: how a Go function
// becomes a field of the global table native, and what it may rely on.
//
//	func New() native.Module {
//		return native.Module{Name: "deadline", Funcs: []native.Func{
//			{Name: "remaining", Do: remaining},
//		}}
//	}
//
//	func remaining(c *native.Call) error { ... return c.Return(v) }
//
// Every call begins with an interrupt check: both clocks are read, and a call
// that comes after the end of a lease, a deadline or a limit is not made. A call
// that takes long uses [Call.Context], which is cancelled at the nearest
// deadline. A call that may change something outside calls [Call.Write], so that
// the locks around it know whether the outcome of a write is in doubt.
//
// Arguments are read by methods of [Call], options by [Call.Options], and the
// handle that a method was called on by [Self]; each raises an argument error for
// what it doesn't take. What goes wrong outside is returned as an
// [*outcome.Error]. Neither error may name anything of another tenant.
package native
