package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// trouble is what befalls an answer on its way to the process.
type trouble int

const (
	none     trouble = iota
	broken           // the connection is closed instead
	silent           // nothing comes, for as long as the process waits
	late             // it comes after up to lateMax
	closed           // it comes, and then no connection is had for closedTime
	cut              // its headers come, and half of it
	replaced         // a page of the proxy comes instead, with status 200
	troubles
)

const (
	// lateMax is more than an attempt may take, and less than the guard.
	lateMax    = 1800 * time.Millisecond
	closedTime = 300 * time.Millisecond
)

// proxy stands in front of DynamoDB Local. Each process that uses it has a
// port of its own, so that it is known who has sent what. It passes on each
// request that has arrived whole, also if nobody waits for its answer any more,
// and keeps a record.
type proxy struct {
	t        *testing.T
	endpoint string
	seed     uint64
	rarity   int           // one answer in so many meets trouble; 0: none does
	answered func(arrival) // called before an answer is passed back; may be nil
	client   *http.Client
	ports    []*port

	mu     sync.Mutex // guards record
	record []*arrival // in the order of arrival
}

// arrival is one request that has arrived whole.
type arrival struct {
	process        int
	at             time.Time
	op             string    // "PutItem"
	partition, key string    // of the row that it is about
	until          time.Time // of the row of a lock to put
	rev, value     string    // of the entry to put

	status   int       // of the service's answer, 0 if it was not asked
	answered time.Time // when that answer came
}

func newProxy(t *testing.T, endpoint string) *proxy {
	p := &proxy{t: t, endpoint: endpoint, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 100, DisableCompression: true,
	}}}
	t.Cleanup(func() {
		p.close()
		p.client.CloseIdleConnections()
	})
	return p
}

// open opens a port for one more process, whose number is that of the port.
func (p *proxy) open() *port {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	o := &port{proxy: p, process: len(p.ports), listener: l}
	o.random = rand.New(rand.NewPCG(p.seed, uint64(o.process)))
	o.server = &http.Server{Handler: o}
	p.ports = append(p.ports, o)
	go o.server.Serve(l)
	return o
}

// close returns once everything that has arrived is answered by the service.
// No process may use the proxy any more.
func (p *proxy) close() {
	for _, o := range p.ports {
		if err := o.server.Shutdown(context.Background()); err != nil {
			p.t.Error(err)
		}
		o.reopening.Wait()
	}
	p.ports = nil
}

// arrive notes that a request is here.
func (p *proxy) arrive(process int, target string, body []byte) *arrival {
	var r struct {
		Item, Key map[string]struct{ S, N string }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		p.t.Errorf("%s: %v: %s", target, err, body)
	}
	row := r.Item
	if row == nil {
		row = r.Key
	}
	_, op, _ := strings.Cut(target, ".")
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &arrival{
		process: process, at: time.Now(), op: op,
		partition: row["p"].S, key: row["k"].S,
		until: milliseconds(row["until"].N), rev: row["r"].S, value: row["v"].N,
	}
	p.record = append(p.record, a)
	return a
}

// forward asks the service.
func (p *proxy) forward(r *http.Request, body []byte) (*http.Response, []byte, error) {
	out, err := http.NewRequest(r.Method, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	out.Header = r.Header
	in, err := p.client.Do(out)
	if err != nil {
		return nil, nil, err
	}
	defer in.Body.Close()
	answer, err := io.ReadAll(in.Body)
	return in, answer, err
}

// settle notes the service's answer.
func (p *proxy) settle(a *arrival, status int) {
	p.mu.Lock()
	a.status, a.answered = status, time.Now()
	settled := *a
	p.mu.Unlock()
	if p.answered != nil {
		p.answered(settled)
	}
}

// requests returns what has arrived so far.
func (p *proxy) requests() []arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []arrival
	for _, a := range p.record {
		all = append(all, *a)
	}
	return all
}

// port is the proxy as one process sees it.
type port struct {
	proxy     *proxy
	process   int
	server    *http.Server
	cut       atomic.Bool // requests arrive and nothing else happens
	reopening sync.WaitGroup

	mu       sync.Mutex // guards what follows
	random   *rand.Rand
	listener net.Listener
}

func (o *port) endpoint() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return "http://" + o.listener.Addr().String()
}

func (o *port) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // no service would act on it
	}
	a := o.proxy.arrive(o.process, r.Header.Get("X-Amz-Target"), body)
	if o.cut.Load() {
		<-r.Context().Done()
		return
	}
	answer, text, err := o.proxy.forward(r, body)
	if err != nil {
		o.proxy.t.Error(err)
		panic(http.ErrAbortHandler)
	}
	o.proxy.settle(a, answer.StatusCode)
	befalls, pause := o.trouble()
	switch befalls {
	case broken:
		panic(http.ErrAbortHandler)
	case silent:
		<-r.Context().Done()
		return
	case late:
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
		}
	case closed:
		w.Header().Set("Connection", "close")
		o.close()
	}
	if befalls == replaced {
		io.WriteString(w, "{}")
		return
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if befalls == cut {
		w.Write(text[:len(text)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Write(text)
}

// trouble draws what befalls the next answer, and by how much it is late. What
// the n-th answer to a process meets depends on the seed alone.
func (o *port) trouble() (trouble, time.Duration) {
	if o.proxy.rarity == 0 {
		return none, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.random.IntN(o.proxy.rarity) > 0 {
		return none, 0
	}
	return 1 + trouble(o.random.IntN(int(troubles-1))), time.Duration(o.random.Int64N(int64(lateMax)))
}

// close refuses connections for closedTime, and longer if somebody takes the
// port meanwhile.
func (o *port) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.listener.Close() != nil {
		return // closed already
	}
	address := o.listener.Addr().String()
	o.reopening.Go(func() {
		look := time.NewTicker(closedTime)
		defer look.Stop()
		for {
			select {
			case <-look.C:
			case <-o.proxy.t.Context().Done():
				return
			}
			if l, err := net.Listen("tcp", address); err == nil {
				o.mu.Lock()
				defer o.mu.Unlock()
				o.listener = l
				go o.server.Serve(l)
				return
			}
		}
	})
}
