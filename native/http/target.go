package http

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// host is a host in its canonical spelling: an address, or a name of lower-case
// ASCII without a dot at its end.
type host struct {
	name string
	addr netip.Addr // valid if it is an address
}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// target is where a URL leads.
type target struct {
	host
	port uint16
	tls  bool
}

func (t target) schemePort() uint16 {
	if t.tls {
		return 443
	}
	return 80
}

// String is the host, and the port unless it is the scheme's.
func (t target) String() string {
	switch {
	case t.port != t.schemePort():
		return t.hostPort()
	case t.addr.Is6():
		return "[" + t.addr.String() + "]"
	}
	return t.host.String()
}

func (t target) hostPort() string {
	return net.JoinHostPort(t.host.String(), strconv.Itoa(int(t.port)))
}

const urlMax = 8 << 10 // bytes

// parseTarget parses a URL, of a script or of a redirect, and rewrites its host
// to the spelling that is checked: nothing reads the old one later.
func parseTarget(u *url.URL) (target, error) {
	var t target
	switch strings.ToLower(u.Scheme) {
	case "https":
		t.tls = true
	case "http":
	default:
		return t, fmt.Errorf("want a URL that begins with https:// or http://")
	}
	switch {
	case u.Opaque != "" || u.Host == "":
		return t, errors.New("want a host behind the slashes")
	case u.User != nil:
		return t, errors.New("a user name or password has no place in a URL: send the header authorization")
	}
	h, err := parseHost(u.Hostname())
	if err != nil {
		return t, err
	}
	t.host, t.port = h, t.schemePort()
	if text := u.Port(); text != "" {
		if t.port, err = parsePort(text); err != nil {
			return t, err
		}
	}
	u.Scheme = map[bool]string{true: "https", false: "http"}[t.tls]
	u.Host = t.String()
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	return t, nil
}

// escapeQuery escapes what would end a query, or the line that it is sent in:
// net/url checks only the other parts of a URL.
func escapeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		switch c := query[i]; {
		case c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func parseURL(text string) (*url.URL, target, error) {
	if len(text) > urlMax {
		return nil, target{}, fmt.Errorf("got %d bytes, want at most %d", len(text), urlMax)
	}
	if !utf8.ValidString(text) {
		return nil, target{}, errors.New("not valid UTF-8")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, target{}, errors.New("not a URL")
	}
	t, err := parseTarget(u)
	return u, t, err
}

const (
	nameMax  = 253 // bytes
	labelMax = 63
)

// parseHost returns the canonical spelling of a host.
func parseHost(text string) (host, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" || addr.Is4In6() {
			return host{}, errors.New("want an address without a zone, and not mapped into IPv6")
		}
		return host{addr: addr}, nil
	}
	name := text
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			var err error
			if name, err = idna.Lookup.ToASCII(text); err != nil {
				return host{}, errors.New("the host isn't a name")
			}
			break
		}
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return host{}, errors.New("the host isn't a name")
		}
	}
	// 127.1, 0x7f000001, 2130706433 and the like, which some take for addresses.
	if last := labels[len(labels)-1]; len(name) > nameMax || last[0] >= '0' && last[0] <= '9' {
		return host{}, errors.New("the host is neither a name nor an address as it is usually written")
	}
	return host{name: name}, nil
}

func isLabel(label string) bool {
	if len(label) == 0 || len(label) > labelMax || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
