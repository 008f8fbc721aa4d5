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

// codeOf asks for a URL and returns the code of the error, "-" for none.
const codeOf = `local ok, err = pcall(native.http.get, url) return ok and "-" or err.code`

// hostile are addresses that no name may lead to, and what they are.
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

func TestNoNameLeadsToAHostileAddress(t *testing.T) {
	dns := new(names)
	// Only the guard is left to refuse them: the name is on the list. With Dial
	// unset, whatever it lets through would really be dialled.
	w := newWorld(t, []string{"evil.test", "evil.test:8080"}, func(o *http.Options) { o.Resolver = dns.resolver(t) })
	for _, row := range hostile {
		if row.addr == "::ffff:8.8.8.8" {
			continue // as an answer of DNS it is 8.8.8.8
		}
		dns.set("evil.test", row.addr)
		for _, url := range []string{"http://evil.test/", "https://evil.test/", "http://evil.test:8080/"} {
			w.expect(t, url, `"net_blocked"`, codeOf)
		}
		if t.Failed() {
			t.Fatalf("%s (%s) was not blocked", row.addr, row.what)
		}
	}
	// Two addresses, of which the first can't be reached.
	dns.set("evil.test", "127.0.0.1", "10.0.0.1", "::1")
	w.expect(t, "http://evil.test/", `"net_blocked"`, codeOf)
}

// A URL may spell an address in many ways, and a redirect may bring it.
func TestNoURLLeadsToAHostileAddress(t *testing.T) {
	dns := new(names)
	to := make(chan string, 1)
	url, address := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, <-to, nethttp.StatusFound)
	})
	w := newWorld(t, []string{address, "*.test", "evil.test:8080"}, func(o *http.Options) { o.Resolver = dns.resolver(t) })
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
		r := w.run(t, text, codeOf)
		if got := string(r.JSON); got != `"net_blocked"` && got != `"net_url"` && got != `"net_dns"` {
			t.Errorf("%q: got %s, %v", text, got, r.Error)
		} else if got == `"net_dns"` && text != "http://evil.test#@127.0.0.1:22/" {
			t.Errorf("%q was looked up", text)
		}
		to <- text
		r = w.run(t, url, codeOf)
		if got := string(r.JSON); got == `"-"` {
			select {
			case <-to: // the server wasn't asked: it was an address of its own that was redirected to
				t.Errorf("redirect to %q: got an answer", text)
			default:
			}
		}
		for len(to) > 0 {
			<-to
		}
	}
	for _, name := range dns.questions() {
		if name != "evil.test" {
			t.Errorf("%q was looked up, which is on no list", name)
		}
	}
}

// The first answer of DNS is what a look before the connection would have seen.
func TestANameThatChangesItsAddressIsLookedAtEachTime(t *testing.T) {
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

	dns := new(names)
	w := newWorld(t, []string{address, fmt.Sprintf("rebind.test:%d", port)}, func(o *http.Options) { o.Resolver = dns.resolver(t) })
	url := fmt.Sprintf("http://rebind.test:%d/", port)
	dns.set("rebind.test", "127.0.0.1")
	w.expect(t, url, `"-"`, codeOf)
	dns.set("rebind.test", "127.0.0.2")
	w.client.CloseIdle()
	w.expect(t, url, `"net_blocked"`, codeOf)
	if reached.Load() {
		t.Error("the second address was reached")
	}
}

func TestASingleAddressOpensItselfAlone(t *testing.T) {
	_, one := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {})
	_, two := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {})
	w := newWorld(t, []string{one})
	w.expect(t, "http://"+one, `"-"`, codeOf)
	w.expect(t, "http://"+two, `"net_blocked"`, codeOf)
	if w.blocked.Load() != 1 {
		t.Errorf("%d blocked requests were counted, want 1", w.blocked.Load())
	}
	six, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return // no IPv6 here
	}
	server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
	server.Listener = six
	server.Start()
	defer server.Close()
	newWorld(t, []string{six.Addr().String()}).expect(t, "http://"+six.Addr().String(), `"-"`, codeOf)
}

// The platform's interfaces lie on loopback where they are emulated.
func TestWhatIsBlockedStaysSoWhateverAPolicySays(t *testing.T) {
	_, address := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { t.Error("a request has arrived") })
	port := netip.MustParseAddrPort(address).Port()
	dns := new(names)
	dns.set("api.test", "127.0.0.1")
	dns.set("localhost", "127.0.0.1")
	allow := []string{address, fmt.Sprintf("localhost:%d", port), fmt.Sprintf("api.test:%d", port)}
	for _, blocked := range []string{
		address, fmt.Sprintf("localhost:%d", port), fmt.Sprintf(":%d", port), fmt.Sprintf("0.0.0.0:%d", port), fmt.Sprintf("[::]:%d", port),
		"http://" + address + "/api/x", fmt.Sprintf("http://api.test:%d", port),
	} {
		w := newWorld(t, allow, func(o *http.Options) { o.Blocked, o.Resolver = []string{blocked}, dns.resolver(t) })
		for _, url := range allow {
			w.expect(t, "http://"+url, `"net_blocked"`, codeOf)
		}
	}
	for _, wrong := range []string{"x", "a b:1", "127.0.0.1:0", "http://"} {
		if _, err := http.New(http.Options{Blocked: []string{wrong + ":"}}); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}

func TestAPolicyThatCanNotBeMeantIsRefused(t *testing.T) {
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
