package http

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// FuzzURL looks for URLs that lead elsewhere than to what a policy allows, or
// that are read differently the second time.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"https://api.example.com/x?y#z", "http://a.example.org:8443", "http://127.0.0.1:8080/", "http://[::1]:80/", "http://[fe80::1%25eth0]/",
		"http://[::ffff:127.0.0.1]/", "http://a:b@api.example.com", "HTTPS://API.EXAMPLE.COM.:443", "http://１２７.０.０.１:8080", "http://0x7f.1/",
		"//api.example.com", "http://api.example.com\\@x/", "http://%61pi.example.com/", "https://bücher.example/",
	} {
		f.Add(seed)
	}
	policy := Policy{Allow: []string{"api.example.com", "*.example.org:8443", "127.0.0.1:8080", "bücher.example"}}
	rules, err := policy.compile()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, first, err := parseURL(text)
		if err != nil {
			return
		}
		again, second, err := parseURL(u.String())
		if err != nil || first != second || again.Host != u.Host {
			t.Errorf("%q is read as %v, and then %q as %v: %v", text, first, u.String(), second, err)
		}
		if !rules.allows(first) {
			return
		}
		host := u.Hostname()
		ok := host == "127.0.0.1" && u.Port() == "8080" ||
			strings.HasSuffix(host, ".example.org") && u.Port() == "8443" ||
			(host == "api.example.com" || host == "xn--bcher-kva.example") && u.Port() == ""
		if !ok || u.User != nil {
			t.Errorf("%q leads to %s, which no policy allows", text, u.Host)
		}
	})
}

// The filter alone, without the checks before it.
func TestFilterSeesThroughEverySpelling(t *testing.T) {
	rules, err := Policy{Allow: []string{"127.0.0.1:8080", "93.184.216.34:9001"}}.compile()
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseBlocklist([]string{"127.0.0.1:9001", "93.184.216.34:9001", ":7000"})
	if err != nil {
		t.Fatal(err)
	}
	f := filter{rules, b}
	for _, test := range []struct {
		network, address string
		allowed          bool
	}{
		{"tcp4", "93.184.216.34:443", true},
		{"tcp4", "93.184.216.34:8443", true},
		{"tcp6", "[2606:4700::1111]:443", true},
		{"tcp4", "127.0.0.1:8080", true},
		{"tcp6", "[::ffff:127.0.0.1]:8080", true}, // the same address
		{"tcp4", "127.0.0.1:8081", false},
		{"tcp4", "93.184.216.34:9001", false},
		{"tcp6", "[::ffff:93.184.216.34]:9001", false},
		{"tcp6", "[fe80::1%lo]:80", false},
		{"udp4", "93.184.216.34:443", false},
		{"unix", "/run/docker.sock", false},
		{"tcp4", "127.0.0.1:7000", false},
	} {
		if err := f.control(test.network, test.address, nil); (err == nil) != test.allowed {
			t.Errorf("%s %s: got %v, want allowed %v", test.network, test.address, err, test.allowed)
		}
	}
	// What this machine listens on, also by its other addresses.
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		addr := netip.MustParsePrefix(a.String()).Addr()
		if !b.hasAddr(netip.AddrPortFrom(addr, 7000), false) {
			t.Errorf("%v:7000 is not blocked", addr)
		}
	}
	if b.hasAddr(netip.MustParseAddrPort("93.184.216.34:7000"), false) {
		t.Error("a port of this machine is blocked elsewhere")
	}
}

func TestAbsoluteNamesEscapeTheSearchList(t *testing.T) {
	for address, want := range map[string]string{
		"api.example.com:443": "api.example.com.:443", "127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80",
	} {
		if got := absolute(address); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
