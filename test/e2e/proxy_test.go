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

// fault is what happens to an answer on its way to the process.
type fault int

const (
	noFault      fault = iota
	faultBreak         // the connection is closed instead
	faultSilence       // no answer comes, for as long as the process waits
	faultDelay         // the answer comes up to delayMax later
	faultRefuse        // the answer comes, and then connections are refused for refuseTime
	faultCut           // its headers come, and half of the body
	faultReplace       // a page of the proxy comes instead, with status 200
	faultCount
)

const (
	// delayMax is longer than an attempt may take, and shorter than the guard.
	delayMax   = 1800 * time.Millisecond
	refuseTime = 300 * time.Millisecond
)

// proxy is a proxy in front of DynamoDB Local that records requests. Each process
// that uses it has a port of its own, which identifies the process. It forwards
// each request that has arrived completely, even if the process no longer waits
// for the answer.
type proxy struct {
	t          *testing.T
	endpoint   string
	seed       uint64
	faultEvery int           // one answer in this many has a fault; 0 disables faults
	answered   func(arrival) // called before an answer is passed back; nil disables it
	client     *http.Client
	ports      []*port

	mu     sync.Mutex // guards record
	record []*arrival // in the order of arrival
}

// arrival is one request that has arrived completely.
type arrival struct {
	process        int
	at             time.Time
	op             string    // "PutItem"
	partition, key string    // of the row in the request
	until          time.Time // of the lock row to put
	rev, value     string    // of the entry to put

	status   int       // of the service's answer; 0 if the request was not forwarded
	answered time.Time // when the answer came
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

// open opens a port for one more process. The process has the number of the port.
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

// close returns once the service has answered all requests that have arrived. No
// process may use the proxy any more.
func (p *proxy) close() {
	for _, o := range p.ports {
		if err := o.server.Shutdown(context.Background()); err != nil {
			p.t.Error(err)
		}
		o.reopening.Wait()
	}
	p.ports = nil
}

// recordArrival records a request.
func (p *proxy) recordArrival(process int, target string, body []byte) *arrival {
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

// forward sends a request to the service.
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

// complete records the service's answer.
func (p *proxy) complete(a *arrival, status int) {
	p.mu.Lock()
	a.status, a.answered = status, time.Now()
	completed := *a
	p.mu.Unlock()
	if p.answered != nil {
		p.answered(completed)
	}
}

// requests returns the requests that have arrived so far.
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
	cutOff    atomic.Bool // requests arrive and are dropped
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
		return // an incomplete request, which no service would execute
	}
	a := o.proxy.recordArrival(o.process, r.Header.Get("X-Amz-Target"), body)
	if o.cutOff.Load() {
		<-r.Context().Done()
		return
	}
	answer, text, err := o.proxy.forward(r, body)
	if err != nil {
		o.proxy.t.Error(err)
		panic(http.ErrAbortHandler)
	}
	o.proxy.complete(a, answer.StatusCode)
	f, delay := o.drawFault()
	switch f {
	case faultBreak:
		panic(http.ErrAbortHandler)
	case faultSilence:
		<-r.Context().Done()
		return
	case faultDelay:
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
		}
	case faultRefuse:
		w.Header().Set("Connection", "close")
		o.refuseConnections()
	}
	if f == faultReplace {
		io.WriteString(w, "{}")
		return
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if f == faultCut {
		w.Write(text[:len(text)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Write(text)
}

// drawFault draws the fault of the next answer, and its delay. The fault of the
// n-th answer to a process depends on the seed alone.
func (o *port) drawFault() (fault, time.Duration) {
	if o.proxy.faultEvery == 0 {
		return noFault, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.random.IntN(o.proxy.faultEvery) > 0 {
		return noFault, 0
	}
	return 1 + fault(o.random.IntN(int(faultCount-1))), time.Duration(o.random.Int64N(int64(delayMax)))
}

// refuseConnections refuses connections for refuseTime, and longer if another
// process takes the port in the meantime.
func (o *port) refuseConnections() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.listener.Close() != nil {
		return // closed already
	}
	address := o.listener.Addr().String()
	o.reopening.Go(func() {
		retry := time.NewTicker(refuseTime)
		defer retry.Stop()
		for {
			select {
			case <-retry.C:
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
