package http

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// errDenied is the error of a connection that may not be made. It is never
// shown: what it is about is the address, which no script asked for.
var errDenied = errors.New("the address is not allowed")

// blocked are the places that no policy opens.
type blocked struct {
	addrs map[netip.AddrPort]bool
	names map[string]bool // host:port
	// ports that something of this machine listens on, whichever its address
	// is: a single address of a policy is refused there, and each of this
	// machine's own.
	ports map[uint16]bool
}

// parseBlocked reads places as they are found in the environment and in
// configurations of listeners: host:port, :port, and URLs.
func parseBlocked(places []string) (*blocked, error) {
	b := &blocked{addrs: map[netip.AddrPort]bool{}, names: map[string]bool{}, ports: map[uint16]bool{}}
	for _, place := range places {
		if err := b.add(place); err != nil {
			return nil, fmt.Errorf("blocked place %q: %w", place, err)
		}
	}
	return b, nil
}

func (b *blocked) add(place string) error {
	rest, port := place, "80"
	if scheme, after, ok := strings.Cut(place, "://"); ok {
		rest, _, _ = strings.Cut(after, "/")
		if scheme == "https" {
			port = "443"
		}
	}
	name, explicit, err := net.SplitHostPort(rest)
	if err != nil {
		name = strings.Trim(rest, "[]")
	} else {
		port = explicit
	}
	number, err := parsePort(port)
	if err != nil {
		return err
	}
	if name == "" {
		b.ports[number] = true
		return nil
	}
	h, err := parseHost(name)
	switch {
	case err != nil:
		return err
	case h.addr.IsValid() && h.addr.IsUnspecified():
		b.ports[number] = true
	case h.addr.IsValid():
		b.addrs[netip.AddrPortFrom(h.addr, number)] = true
	default:
		// Wherever the name leads, it is this machine or next to it.
		b.names[target{host: h, port: number}.hostPort()] = true
		b.ports[number] = true
	}
	return nil
}

// names says whether a target is blocked by name.
func (b *blocked) blocksName(t target) bool { return b.names[t.hostPort()] }

// blocks says whether nothing may be dialled at place, even if a policy opens
// it as a single address.
func (b *blocked) blocks(place netip.AddrPort, opened bool) bool {
	return b.addrs[place] || b.ports[place.Port()] && (opened || isOwn(place.Addr()))
}

// isOwn says whether addr is one of this machine's. When nobody can tell, it is.
func isOwn(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range own {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr() == addr {
			return true
		}
	}
	return addr.IsLoopback()
}

// guard looks at each connection right before it is made.
type guard struct {
	rules   *rules
	blocked *blocked
}

// public knows the addresses that lead out of here: all but those that are
// private, local, reserved, or another address in disguise.
var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(
	netip.MustParsePrefix("168.63.129.16/32"), // the host below a machine of Azure
))

// control is net.Dialer's: it is asked once for each address of a name.
func (g *guard) control(network, address string, conn syscall.RawConn) error {
	place, err := netip.ParseAddrPort(address)
	if err != nil {
		return errDenied
	}
	place = netip.AddrPortFrom(place.Addr().Unmap(), place.Port())
	opened := g.rules.opened[place]
	if g.blocked.blocks(place, opened) {
		return errDenied
	}
	if !opened && public.Safe(network, address, conn) != nil {
		return errDenied
	}
	return nil
}
