package clock

import "context"

// Ender is a context whose end lies on a [Dual] clock, where no timer can see
// it. It is found in derived contexts as the value of [EnderKey].
type Ender interface {
	// Ended reads both clocks and reports whether the end has passed.
	Ended() bool
}

// EnderKey is the key under which a context returns the [Ender] that it is
// derived from.
type EnderKey struct{}

// Ended reads both clocks and reports whether the call that ctx belongs to has
// come to its end. A timer may be late: in a process that was stopped, all of
// them are. So it is checked right before bytes that change something are sent.
// A context without an [Ender] never ends this way.
func Ended(ctx context.Context) bool {
	e, ok := ctx.Value(EnderKey{}).(Ender)
	return ok && e.Ended()
}

// Detach returns ctx without its end and without its cancellation, for what is
// cleaned up afterwards.
func Detach(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), EnderKey{}, nil)
}
