package http_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// dnsServer is a DNS server on loopback whose records may change. It keeps the
// names that were looked up.
type dnsServer struct {
	mu    sync.Mutex // guards what follows
	addrs map[string][]netip.Addr
	seen  []string
}

func (s *dnsServer) set(name string, addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addrs == nil {
		s.addrs = map[string][]netip.Addr{}
	}
	s.addrs[name] = nil
	for _, a := range addrs {
		s.addrs[name] = append(s.addrs[name], netip.MustParseAddr(a))
	}
}

func (s *dnsServer) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *dnsServer) resolver(t testing.TB) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		question := make([]byte, 4096)
		for {
			size, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			if answer := s.answer(question[:size]); answer != nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answer returns the answer to a question, nil for the name silent.test.
func (s *dnsServer) answer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, name)
	if name == "silent.test" {
		return nil
	}
	m.Response = true
	m.Additionals = nil
	addrs, ok := s.addrs[name]
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
		case !a.Is4() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	answer, _ := m.Pack()
	return answer
}
