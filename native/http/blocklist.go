package http

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// blocklist is what no policy opens.
type blocklist struct {
	addrs map[netip.AddrPort]bool
	names map[string]bool // host:port
	// ports that something on this machine listens on, at whatever address. They
	// are refused at a single address of a policy, and at each address of this
	// machine.
	ports map[uint16]bool
}

// parseBlocklist reads addresses as they are found in the environment and in
// configurations of listeners: host:port, :port, and URLs.
func parseBlocklist(texts []string) (*blocklist, error) {
	b := &blocklist{addrs: map[netip.AddrPort]bool{}, names: map[string]bool{}, ports: map[uint16]bool{}}
	for _, text := range texts {
		if err := b.add(text); err != nil {
			return nil, fmt.Errorf("blocked address %q: %w", text, err)
		}
	}
	return b, nil
}

func (b *blocklist) add(text string) error {
	rest, port := text, "80"
	if scheme, after, ok := strings.Cut(text, "://"); ok {
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
		// Wherever the name leads, it is this machine or its neighbour.
		b.names[target{host: h, port: number}.hostPort()] = true
		b.ports[number] = true
	}
	return nil
}

// hasName reports whether a target is blocked by its name.
func (b *blocklist) hasName(t target) bool { return b.names[t.hostPort()] }

// hasAddr reports whether addr is blocked. opened says that a policy opens it as a
// single address.
func (b *blocklist) hasAddr(addr netip.AddrPort, opened bool) bool {
	return b.addrs[addr] || b.ports[addr.Port()] && (opened || isOwn(addr.Addr()))
}

// isOwn reports whether addr is one of this machine's, true if that isn't known.
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
