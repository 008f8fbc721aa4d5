package dynamo

import (
	"context"
	"net"
	"net/http"
)

// DialWith replaces how the store connects.
func (s *Store) DialWith(dial func(context.Context) (net.Conn, error)) {
	s.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
}
