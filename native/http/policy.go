package http

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Policy is what a tenant may reach, and how much it may send and receive.
type Policy struct {
	// Allow lists what may be reached; nothing else is. An entry is
	//
	//	api.example.com          a name, at the port of the scheme: 443 or 80
	//	api.example.com:8443     a name at one port
	//	*.example.com            all names below example.com, but not itself
	//	127.0.0.1:8080, [::1]:80 one address at one port; private ones too
	//	93.184.216.34            one address at the port of the scheme
	//
	// Names outside of ASCII are written as they are or in Punycode.
	Allow []string
	// BodyBytes is the largest body, of a request and of a response that isn't
	// read as a stream, decompressed. The default is 6 MiB.
	BodyBytes int64
	// InFlight is how many requests of the tenant may be in flight at once, with
	// the responses that are being read as streams. The default is 100.
	InFlight int
}

const (
	defaultBodyBytes = 6 << 20
	defaultInFlight  = 100
)

func (p Policy) withDefaults() Policy {
	if p.BodyBytes == 0 {
		p.BodyBytes = defaultBodyBytes
	}
	if p.InFlight == 0 {
		p.InFlight = defaultInFlight
	}
	return p
}

func (p Policy) equal(q Policy) bool {
	return p.BodyBytes == q.BodyBytes && p.InFlight == q.InFlight && slices.Equal(p.Allow, q.Allow)
}

// Check returns an error if the policy is not valid.
func (p Policy) Check() error {
	_, err := p.compile()
	return err
}

// rules are a compiled policy.
type rules struct {
	entries []entry
	opened  map[netip.AddrPort]bool // single addresses, at their ports
}

// entry is an entry of the list. Exactly one of name, suffix and addr is set.
type entry struct {
	name   string
	suffix string // with its dot: ".example.com"
	addr   netip.Addr
	port   uint16 // 0 for that of the scheme
}

func (p Policy) compile() (*rules, error) {
	r := &rules{opened: map[netip.AddrPort]bool{}}
	if p.BodyBytes < 0 || p.InFlight < 0 {
		return nil, fmt.Errorf("http policy: body of %d bytes, %d in flight: want 0 or more", p.BodyBytes, p.InFlight)
	}
	for _, text := range p.Allow {
		e, err := parseEntry(text)
		if err != nil {
			return nil, fmt.Errorf("http.allow: %q: %w", text, err)
		}
		r.entries = append(r.entries, e)
		if !e.addr.IsValid() {
			continue
		}
		for _, port := range []uint16{80, 443} {
			if e.port == 0 {
				r.opened[netip.AddrPortFrom(e.addr, port)] = true
			}
		}
		if e.port != 0 {
			r.opened[netip.AddrPortFrom(e.addr, e.port)] = true
		}
	}
	return r, nil
}

func parseEntry(text string) (e entry, err error) {
	host := text
	if addr, err := netip.ParseAddr(text); err == nil { // also an IPv6 address without a port
		return entry{addr: addr}, openable(addr)
	}
	if at := strings.LastIndexByte(text, ':'); at >= 0 && !strings.HasSuffix(text, "]") {
		if e.port, err = parsePort(text[at+1:]); err != nil {
			return e, err
		}
		host = text[:at]
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, _ = strings.CutSuffix(inner, "]")
		if e.addr, err = netip.ParseAddr(inner); err != nil || !e.addr.Is6() {
			return e, fmt.Errorf("want an IPv6 address in the brackets")
		}
		return e, openable(e.addr)
	}
	below, isSuffix := strings.CutPrefix(host, "*.")
	h, err := parseHost(below)
	switch {
	case err != nil:
		return e, err
	case h.addr.IsValid() && isSuffix:
		return e, fmt.Errorf("an address has nothing below it")
	case h.addr.IsValid():
		e.addr = h.addr
		return e, openable(h.addr)
	case isSuffix:
		e.suffix = "." + h.name
	default:
		e.name = h.name
	}
	return e, nil
}

// openable returns an error unless an address may be an entry: a public or a
// private one, but neither link-local nor one that stands for another.
func openable(addr netip.Addr) error {
	switch {
	case addr.Is4In6(), addr.Zone() != "", amazon.Contains(addr):
	case addr.IsLoopback(), addr.IsPrivate(), shared.Contains(addr), public.SafeAddr(addr) == nil:
		return nil
	}
	return fmt.Errorf("this address can't be opened")
}

var (
	amazon = netip.MustParsePrefix("fd00:ec2::/32") // metadata and other services of the platform
	shared = netip.MustParsePrefix("100.64.0.0/10") // carrier-grade NAT
)

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] < '1' || text[0] > '9' {
		return 0, fmt.Errorf("port %.10q: want 1..65535", text)
	}
	return uint16(n), nil
}

// allows reports whether a target is on the list.
func (r *rules) allows(t target) bool {
	for _, e := range r.entries {
		if e.port != t.port && (e.port != 0 || t.port != t.schemePort()) {
			continue
		}
		switch {
		case t.addr.IsValid():
			if t.addr == e.addr {
				return true
			}
		case e.name != "" && t.name == e.name,
			e.suffix != "" && len(t.name) > len(e.suffix) && strings.HasSuffix(t.name, e.suffix):
			return true
		}
	}
	return false
}
