package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	nethttp "net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	// dialTime bounds the making of a connection, its name looked up, and TLS
	// agreed on after that.
	dialTime = 5 * time.Second
	// idleTime is how long a connection is kept between requests: less than
	// common servers do, so that few are closed while a request goes out.
	idleTime = 20 * time.Second
	// idlePerHost and idleInAll are how many are kept for a tenant.
	idlePerHost = 4
	idleInAll   = 20
	// headerBytes is how large the header of an answer may be.
	headerBytes = 64 << 10
)

// Events is told what happens.
type Events struct {
	// Blocked is told of each request that was not allowed; nil: nobody is.
	Blocked func(tenant.ID)
}

// Options configure the requests of a process.
type Options struct {
	// Policy says what a tenant may do. It is asked at each request; nil: no
	// tenant may do anything.
	Policy func(tenant.ID) Policy
	// Blocked are places that no policy opens, as host:port, :port or URL: the
	// platform's own interfaces (AWS_LAMBDA_RUNTIME_API, ECS_AGENT_URI) and what
	// this process listens on.
	Blocked []string
	// Events is told what happens.
	Events Events
	// RootCAs are trusted for TLS. Default: the system's.
	RootCAs *x509.CertPool
	// Resolver looks names up. Default: Go's own, whose waits end with the run.
	Resolver *net.Resolver
	// Dial makes connections in place of the network, for tests: no address is
	// looked at then. Default: the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client makes the requests of all tenants of a process. It is safe for use by
// many goroutines.
type Client struct {
	options Options
	blocked *blocked

	mu    sync.Mutex // guards what follows
	users map[tenant.ID]*user
}

// user is a tenant that has made requests.
type user struct {
	way      *way
	inFlight int
}

// way is a tenant's way out under one policy.
type way struct {
	policy    Policy
	rules     *rules
	transport *nethttp.Transport
}

// New returns a client. An error says which of the blocked places can't be
// read.
func New(o Options) (*Client, error) {
	b, err := parseBlocked(o.Blocked)
	if err != nil {
		return nil, err
	}
	if o.Policy == nil {
		o.Policy = func(tenant.ID) Policy { return Policy{} }
	}
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	return &Client{options: o, blocked: b, users: map[tenant.ID]*user{}}, nil
}

// CloseIdle closes the connections that no request uses: for hosts whose
// machine was frozen, after which they are dead, and for those that end.
func (c *Client) CloseIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.users {
		if u.way != nil {
			u.way.transport.CloseIdleConnections()
		}
	}
}

// enter counts one more request of a tenant, whose way out it returns; nil if
// the tenant has too many under way. leave is called when it is over.
func (c *Client) enter(id tenant.ID) (w *way, leave func(), err error) {
	policy := c.options.Policy(id).withDefaults()
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.users[id]
	if u == nil {
		u = new(user)
		c.users[id] = u
	}
	if u.inFlight >= policy.InFlight {
		return nil, nil, busy(policy.InFlight)
	}
	if u.way == nil || !u.way.policy.equal(policy) {
		rules, err := policy.compile()
		if err != nil {
			return nil, nil, err
		}
		if u.way != nil {
			u.way.transport.CloseIdleConnections()
		}
		u.way = &way{policy, rules, c.transport(rules)}
	}
	u.inFlight++
	return u.way, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		u.inFlight--
	}), nil
}

// transport makes the connections of one tenant under one policy. They speak
// HTTP/1.1: one that is stuck holds up one request only.
func (c *Client) transport(r *rules) *nethttp.Transport {
	dial := c.options.Dial
	if dial == nil {
		g := &guard{r, c.blocked}
		dialer := &net.Dialer{Timeout: dialTime, Resolver: c.options.Resolver, Control: g.control}
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, absolute(address))
		}
	}
	d := &dialer{dial, &tls.Config{RootCAs: c.options.RootCAs, NextProtos: []string{"http/1.1"}}}
	protocols := new(nethttp.Protocols)
	protocols.SetHTTP1(true)
	return &nethttp.Transport{
		DialContext:            d.plain,
		DialTLSContext:         d.secure,
		Protocols:              protocols,
		MaxIdleConns:           idleInAll,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: headerBytes,
	}
}

// absolute puts a dot behind a name, so that no search list of this machine
// makes another name of it.
func absolute(address string) string {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return address
	}
	return net.JoinHostPort(name+".", port)
}

// admit says whether a tenant may go to a place.
func (c *Client) admit(w *way, t target) bool {
	return w.rules.allows(t) && !c.blocked.blocksName(t)
}

func (c *Client) countBlocked(id tenant.ID) {
	if c.options.Events.Blocked != nil {
		c.options.Events.Blocked(id)
	}
}
