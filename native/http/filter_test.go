package http_test

import (
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/tidelock-lua/tidelock/native/http"
)

// codeOf requests a URL and returns the code of the error, "-" for none.
const codeOf = `local ok, err = pcall(native.http.get, url) return ok and "-" or err.code`

// hostile are the addresses that no name may lead to.
var hostile = []struct{ addr, what string }{
	{"127.0.0.1", "loopback"},
	{"127.8.8.8", "loopback too"},
	{"0.0.0.0", "this machine"},
	{"10.0.0.1", "private"},
	{"172.16.0.1", "private"},
	{"172.31.255.255", "private"},
	{"192.168.1.1", "private"},
	{"100.64.0.1", "shared by carriers"},
	{"100.100.100.200", "metadata of another cloud"},
	{"169.254.169.254", "metadata"},
	{"169.254.170.2", "credentials of a task"},
	{"169.254.100.1", "Lambda's runtime interface"},
	{"169.254.1.1", "link-local"},
	{"168.63.129.16", "the host below, in another cloud"},
	{"192.0.0.192", "metadata of another cloud"},
	{"192.0.2.1", "documentation"},
	{"198.18.0.1", "measurements"},
	{"192.88.99.1", "6to4 relay"},
	{"224.0.0.1", "multicast"},
	{"240.0.0.1", "reserved"},
	{"255.255.255.255", "broadcast"},
	{"::1", "loopback"},
	{"::", "this machine"},
	{"::ffff:127.0.0.1", "mapped"},
	{"::ffff:169.254.169.254", "mapped metadata"},
	{"::ffff:8.8.8.8", "mapped, and public"},
	{"::127.0.0.1", "compatible"},
	{"::ffff:0:127.0.0.1", "translated"},
	{"64:ff9b::127.0.0.1", "NAT64"},
	{"64:ff9b::169.254.169.254", "NAT64 of metadata"},
	{"64:ff9b:1::10.0.0.1", "NAT64 of one's own"},
	{"2002:7f00:1::", "6to4"},
	{"2002:a9fe:a9fe::1", "6to4 of metadata"},
	{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"},
	{"2001:db8::1", "documentation"},
	{"3fff::1", "documentation"},
	{"fd00:ec2::254", "metadata"},
	{"fd12:3456::1", "private"},
	{"fe80::1", "link-local"},
	{"fec0::1", "site-local"},
	{"ff02::1", "multicast"},
	{"100::1", "discarded"},
	{"5f00::1", "segment routing"},
}

func TestFilterBlocksHostileAddressesOfAnyName(t *testing.T) {
	dns := new(dnsServer)
	// The name is on the list, so only the filter refuses them. Dial is not set:
	// an address that it accepts would really be dialled.
	h := newHarness(t, []string{"evil.test", "evil.test:8080"}, func(o *http.Options) { o.Resolver = dns.resolver(t) })
	for _, row := range hostile {
		if row.addr == "::ffff:8.8.8.8" {
			continue // in a DNS record it is 8.8.8.8
		}
		dns.set("evil.test", row.addr)
		for _, url := range []string{"http://evil.test/", "https://evil.test/", "http://evil.test:8080/"} {
			h.expect(t, url, `"net_blocked"`, codeOf)
		}
		if t.Failed() {
			t.Fatalf("%s (%s) was not blocked", row.addr, row.what)
		}
	}
	// Two addresses, of which the first can't be reached.
	dns.set("evil.test", "127.0.0.1", "10.0.0.1", "::1")
	h.expect(t, "http://evil.test/", `"net_blocked"`, codeOf)
}

// A URL may spell an address in many ways, and a redirect may bring it.
func TestTargetBlocksHostileAddressesInAnySpelling(t *testing.T) {
	dns := new(dnsServer)
	to := make(chan string, 1)
	url, address := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, <-to, nethttp.StatusFound)
	})
	h := newHarness(t, []string{address, "*.test", "evil.test:8080"}, func(o *http.Options) { o.Resolver = dns.resolver(t) })
	urls := []string{
		"http://2130706433/", "http://0x7f000001/", "http://017700000001/", "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://0x7f.1/",
		"http://127.1/", "http://127.0.1/", "http://127.0.0.1./", "http://127.0.0.1.:80/", "http://①②⑦.⓪.⓪.①/", "http://１２７.０.０.１/",
		"http://127。0。0。1/", "http://127.0.0.1%00.test/", "http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://[fe80::1%25lo]/",
		"http://[fe80::1%lo]/", "http://[::1%25]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://[::1].test/",
		"http://[127.0.0.1]/", "http://::1/", "http://127.0.0.1:80:80/", "http://127.0.0.1:080/", "http://127.0.0.1:+80/",
		"http://127.0.0.1:65536/", "http://127.0.0.1:-1/", "http://127.0.0.1:8080\\@evil.test/", "http://evil.test@127.0.0.1/",
		"http://evil.test:x@127.0.0.1/", "http://evil.test#@127.0.0.1:22/", "//127.0.0.1/", "http:/127.0.0.1/", "http:127.0.0.1",
		"http://metadata.google.internal/", "http://instance-data/", "http://host.docker.internal/", "http://evil.test:22/",
		"http://evil.test:9001/", "gopher://evil.test/", "file:///etc/passwd", "unix:///run/docker.sock", "jar:http://evil.test!/", "javascript:1", "data:,x",
		"http://xn--/", "http://-.test/", "http://.test/", "http://a..test/", "http://*.test/", "http://a b.test/", "http://\x00.test/", "http://test/",
	}
	for _, row := range hostile {
		addr := netip.MustParseAddr(row.addr)
		host := row.addr
		if addr.Is6() {
			host = "[" + host + "]"
		}
		urls = append(urls, "http://"+host+"/", "http://"+host+":8080/")
		if addr.Is6() {
			urls = append(urls, "http://["+addr.StringExpanded()+"]/", fmt.Sprintf("https://[%s%%25eth0]/", addr.Unmap().String()))
		}
	}
	for _, text := range urls {
		r := h.run(t, text, codeOf)
		if got := string(r.JSON); got != `"net_blocked"` && got != `"net_url"` && got != `"net_dns"` {
			t.Errorf("%q: got %s, %v", text, got, r.Error)
		} else if got == `"net_dns"` && text != "http://evil.test#@127.0.0.1:22/" {
			t.Errorf("%q was looked up", text)
		}
		to <- text
		r = h.run(t, url, codeOf)
		if got := string(r.JSON); got == `"-"` {
			select {
			case <-to: // the server got no request: the redirect led to its own address
				t.Errorf("redirect to %q: got a response", text)
			default:
			}
		}
		for len(to) > 0 {
			<-to
		}
	}
	for _, name := range dns.questions() {
		if name != "evil.test" {
			t.Errorf("%q was looked up, which no policy allows", name)
		}
	}
}

// A check before the connection is made would have seen only the first record.
func TestFilterChecksANameThatChangesItsAddress(t *testing.T) {
	var reached atomic.Bool
	_, address := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {})
	port := netip.MustParseAddrPort(address).Port()
	second, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", port))
	if err != nil {
		t.Skip("this machine has no 127.0.0.2")
	}
	inner := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { reached.Store(true) }))
	inner.Listener = second
	inner.Start()
	defer inner.Close()

	dns := new(dnsServer)
	h := newHarness(t, []string{address, fmt.Sprintf("rebind.test:%d", port)}, func(o *http.Options) { o.Resolver = dns.resolver(t) })
	url := fmt.Sprintf("http://rebind.test:%d/", port)
	dns.set("rebind.test", "127.0.0.1")
	h.expect(t, url, `"-"`, codeOf)
	dns.set("rebind.test", "127.0.0.2")
	h.client.CloseIdle()
	h.expect(t, url, `"net_blocked"`, codeOf)
	if reached.Load() {
		t.Error("the second address was reached")
	}
}
