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
	// dialTime bounds connecting, with the look-up of the name, and the TLS
	// handshake after it.
	dialTime = 5 * time.Second
	// idleTime is how long a connection is kept between requests: less than
	// common servers keep it, so that few are closed while a request goes out.
	idleTime = 20 * time.Second
	// idlePerHost and idleInAll are how many connections are kept for a tenant.
	idlePerHost = 4
	idleInAll   = 20
	// headerBytes is the largest header of a response.
	headerBytes = 64 << 10
)

// Events are called when something happens that an operator wants to know.
type Events struct {
	// Blocked is called for each request that was not allowed. nil disables it.
	Blocked func(tenant.ID)
}

// Options configure the requests of a process.
type Options struct {
	// Policy returns what a tenant may reach. It is called at each request. nil
	// allows nothing.
	Policy func(tenant.ID) Policy
	// Blocked are addresses that no policy opens, as host:port, :port or URL: the
	// platform's own interfaces (AWS_LAMBDA_RUNTIME_API, ECS_AGENT_URI) and what
	// this process listens on.
	Blocked []string
	// Events are called when something happens.
	Events Events
	// RootCAs are trusted for TLS. The default is the system's.
	RootCAs *x509.CertPool
	// Resolver looks names up. The default is Go's own, whose waits end with the
	// run.
	Resolver *net.Resolver
	// Dial replaces the network in tests: addresses are not filtered then.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client makes the requests of all tenants of a process. It is safe for use by
// many goroutines.
type Client struct {
	options Options
	blocked *blocklist

	mu      sync.Mutex // guards what follows
	tenants map[tenant.ID]*tenantState
}

// tenantState is what the client keeps of a tenant that has made requests.
type tenantState struct {
	transport *tenantTransport
	inFlight  int
}

// tenantTransport makes the connections of one tenant under one policy.
type tenantTransport struct {
	policy Policy
	rules  *rules
	base   *nethttp.Transport
}

// New returns a client. Its error names the blocked address that can't be parsed.
func New(o Options) (*Client, error) {
	b, err := parseBlocklist(o.Blocked)
	if err != nil {
		return nil, err
	}
	if o.Policy == nil {
		o.Policy = func(tenant.ID) Policy { return Policy{} }
	}
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	return &Client{options: o, blocked: b, tenants: map[tenant.ID]*tenantState{}}, nil
}

// CloseIdle closes the connections that no request uses. A host calls it at its
// end, and when its machine was frozen, after which they are dead.
func (c *Client) CloseIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, state := range c.tenants {
		if state.transport != nil {
			state.transport.base.CloseIdleConnections()
		}
	}
}

// acquire counts one more request of a tenant and returns its transport; it is an
// error if too many are in flight. release is called when the request is over.
func (c *Client) acquire(id tenant.ID) (t *tenantTransport, release func(), err error) {
	policy := c.options.Policy(id).withDefaults()
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.tenants[id]
	if state == nil {
		state = new(tenantState)
		c.tenants[id] = state
	}
	if state.inFlight >= policy.InFlight {
		return nil, nil, tooManyInFlight(policy.InFlight)
	}
	if state.transport == nil || !state.transport.policy.equal(policy) {
		rules, err := policy.compile()
		if err != nil {
			return nil, nil, err
		}
		if state.transport != nil {
			state.transport.base.CloseIdleConnections()
		}
		state.transport = &tenantTransport{policy, rules, c.newTransport(rules)}
	}
	state.inFlight++
	return state.transport, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		state.inFlight--
	}), nil
}

// newTransport returns a transport whose connections keep to rules. They speak
// HTTP/1.1: one that is stuck holds up one request only.
func (c *Client) newTransport(r *rules) *nethttp.Transport {
	dial := c.options.Dial
	if dial == nil {
		g := &filter{r, c.blocked}
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

// absolute makes the name in an address absolute, by a dot at its end, so that no
// search list of this machine makes another name of it.
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

// allows reports whether a tenant may reach a target.
func (c *Client) allows(transport *tenantTransport, t target) bool {
	return transport.rules.allows(t) && !c.blocked.hasName(t)
}

func (c *Client) reportBlocked(id tenant.ID) {
	if c.options.Events.Blocked != nil {
		c.options.Events.Blocked(id)
	}
}
