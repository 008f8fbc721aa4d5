package sql_test

import (
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// proxy stands in front of a server and can stop forwarding.
type proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu      sync.Mutex    // guards what follows
	open    chan struct{} // closed unless the proxy is stalled
	conns   []net.Conn
	opened  int
	stalled bool
	held    chan struct{} // closed when the next bytes are held back
	fault   func(answer []byte) (changed []byte, cut bool)
}

// spoil lets fault change what the servers answer from now on, until it cuts the
// connection.
func (p *proxy) spoil(fault func(answer []byte) (changed []byte, cut bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// change applies the fault to an answer.
func (p *proxy) change(answer []byte) (changed []byte, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		return answer, false
	}
	return p.fault(answer)
}

// withProxy puts a proxy in front of the connection's server.
func withProxy(t testing.TB, c *sql.Connection) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), open: make(chan struct{})}
	close(p.open)
	c.Port = l.Addr().(*net.TCPAddr).Port
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.opened++
		p.mu.Unlock()
		for i, pair := range [][2]net.Conn{{client, server}, {server, client}} {
			p.wg.Go(func() {
				defer pair[1].Close()
				buffer := make([]byte, 32<<10)
				for {
					n, err := pair[0].Read(buffer)
					if err != nil {
						return
					}
					p.pass()
					out, cut := buffer[:n], false
					if i == 1 {
						out, cut = p.change(out)
					}
					if _, err := pair[1].Write(out); err != nil || cut {
						return
					}
				}
			})
		}
	}
}

// pass waits while the proxy is stalled.
func (p *proxy) pass() {
	p.mu.Lock()
	open := p.open
	if p.stalled && p.held != nil {
		close(p.held)
		p.held = nil
	}
	p.mu.Unlock()
	<-open
}

// stall stops forwarding in both directions. The channel that it returns is closed
// when something is held back.
func (p *proxy) stall() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.open, p.stalled, p.held = make(chan struct{}), true, held
	return held
}

// release forwards again, beginning with what was held back.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled {
		p.stalled = false
		close(p.open)
	}
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// count returns how many connections there have been.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

func (p *proxy) close() {
	p.listener.Close()
	p.release()
	p.cut()
	p.wg.Wait()
}
