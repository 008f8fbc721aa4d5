package http_test

import (
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/tidelock-lua/tidelock/native/http"
)

func TestPolicyWithASingleAddressOpensOnlyThat(t *testing.T) {
	_, one := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {})
	_, two := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {})
	h := newHarness(t, []string{one})
	h.expect(t, "http://"+one, `"-"`, codeOf)
	h.expect(t, "http://"+two, `"net_blocked"`, codeOf)
	if h.blocked.Load() != 1 {
		t.Errorf("%d blocked requests were counted, want 1", h.blocked.Load())
	}
	six, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return // no IPv6 here
	}
	server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
	server.Listener = six
	server.Start()
	defer server.Close()
	newHarness(t, []string{six.Addr().String()}).expect(t, "http://"+six.Addr().String(), `"-"`, codeOf)
}

// The platform's interfaces lie on loopback where the platform is emulated.
func TestBlocklistOverridesEachPolicy(t *testing.T) {
	_, address := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { t.Error("a request has arrived") })
	port := netip.MustParseAddrPort(address).Port()
	dns := new(dnsServer)
	dns.set("api.test", "127.0.0.1")
	dns.set("localhost", "127.0.0.1")
	allow := []string{address, fmt.Sprintf("localhost:%d", port), fmt.Sprintf("api.test:%d", port)}
	for _, blocked := range []string{
		address, fmt.Sprintf("localhost:%d", port), fmt.Sprintf(":%d", port), fmt.Sprintf("0.0.0.0:%d", port), fmt.Sprintf("[::]:%d", port),
		"http://" + address + "/api/x", fmt.Sprintf("http://api.test:%d", port),
	} {
		h := newHarness(t, allow, func(o *http.Options) { o.Blocked, o.Resolver = []string{blocked}, dns.resolver(t) })
		for _, url := range allow {
			h.expect(t, "http://"+url, `"net_blocked"`, codeOf)
		}
	}
	for _, wrong := range []string{"x", "a b:1", "127.0.0.1:0", "http://"} {
		if _, err := http.New(http.Options{Blocked: []string{wrong + ":"}}); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}

func TestPolicyCheck(t *testing.T) {
	for _, good := range []string{
		"api.example.com", "API.Example.COM.", "*.example.org:8443", "bücher.example", "127.0.0.1:8080", "[::1]:8080", "::1", "[2606:4700::1111]",
		"93.184.216.34", "10.0.0.5:443", "xn--bcher-kva.example", "a_b.example.com",
	} {
		if err := (http.Policy{Allow: []string{good}}).Check(); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "*", "*.", "*.*.com", "a.*.com", "*example.com", "https://api.example.com", "api.example.com/", "api.example.com:0", "api.example.com:x",
		"api.example.com:", "10.0.0.0/8", "*.10.0.0.1", "127.1", "169.254.169.254", "169.254.170.2:80", "[fd00:ec2::254]:80", "[fe80::1%eth0]:80",
		"0.0.0.0:80", "[::]:80", "[::ffff:127.0.0.1]:80", "[64:ff9b::7f00:1]:80", "224.0.0.1", "2002:7f00:1::", "[127.0.0.1]:80", "[x]:80", "me@example.com", "a b",
	} {
		if err := (http.Policy{Allow: []string{bad}}).Check(); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if (http.Policy{BodyBytes: -1}).Check() == nil || (http.Policy{InFlight: -1}).Check() == nil {
		t.Error("negative limits were taken")
	}
}
