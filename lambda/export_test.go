package lambda

import "context"

// ServeAt is [Host.Serve] at an address, until ctx ends.
func (h *Host) ServeAt(ctx context.Context, address string, loops int) error {
	a := newRuntimeAPI(address, loops)
	defer a.client.CloseIdleConnections()
	return h.serve(ctx, a, loops)
}

// RegisterAt registers the extension at an address.
func (h *Host) RegisterAt(address string) {
	a := newRuntimeAPI(address, 1)
	defer a.client.CloseIdleConnections()
	h.register(a)
}
