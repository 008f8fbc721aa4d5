package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Timeouts and limits of the HTTP servers.
const (
	headerTimeout   = 10 * time.Second // to receive a request's header
	bodyTimeout     = time.Minute      // to receive its body
	unreadTimeout   = 5 * time.Second  // to receive a body that no handler reads
	responseTimeout = time.Minute      // to send a response
	idleTimeout     = 2 * time.Minute  // between two requests of a connection
	headerMax       = 16 << 10         // bytes of a request's header
)

// Servers are the HTTP servers of an API.
type Servers struct {
	all    []server
	failed chan error
	serve  sync.WaitGroup
}

// server is an HTTP server and what it listens on.
type server struct {
	*http.Server
	listener net.Listener
}

// Serve starts a server for [API.Handler] on one listener, and one for
// [API.InternalHandler] on internal, if that is not nil. It takes both
// listeners over. It is an error if there are no tokens and others than this
// machine can reach the first listener.
func (a *API) Serve(l, internal net.Listener) (*Servers, error) {
	address := l.Addr()
	a.listens.Store(&address) // first, so that no reload comes between
	if len(a.access.Load().keys) == 0 && !loopback(address) {
		err := errNeedsTokens(address)
		if internal != nil {
			err = errors.Join(err, internal.Close())
		}
		return nil, errors.Join(err, l.Close())
	}
	s := &Servers{failed: make(chan error, 2)}
	s.start(a.newServer(l, a.Handler()))
	if internal != nil {
		s.start(a.newServer(internal, a.InternalHandler()))
	}
	return s, nil
}

func (a *API) newServer(l net.Listener, handler http.Handler) server {
	return server{listener: l, Server: &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerMax,
		ErrorLog: zap.NewStdLog(a.config.Log),
	}}
}

func (s *Servers) start(one server) {
	s.all = append(s.all, one)
	s.serve.Go(func() {
		if err := one.Serve(one.listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("%s: %w", one.listener.Addr(), err)
		}
	})
}

// Failed returns a channel with the errors of servers that end by themselves.
func (s *Servers) Failed() <-chan error { return s.failed }

// Stop ends all servers. Responses have d at most to be sent.
func (s *Servers) Stop(d time.Duration) {
	var stopping sync.WaitGroup
	for _, one := range s.all { // at the same time, because d is all that is left
		stopping.Go(func() { one.stop(d) })
	}
	stopping.Wait()
	s.serve.Wait()
}

func (s server) stop(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		_ = s.Close() // cuts off what is left
	}
}

// loopback reports whether only this machine can reach an address.
func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
