package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	nativehttp "github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/module/httpmodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	requestsAtOnce = 8  // runs that make requests at the same time
	requestsOfRun  = 50 // that a run makes at least, so that they are what is measured
)

// getScript makes requests one after the other.
const getScript = `return function(e)
	for i = 1, e.times do
		assert(native.http.get(e.url).body == "hello")
	end
end`

// httpRates compare native.http.get with Go's own client. The server runs in
// this process as well, and its work is in both.
func httpRates() ([]rate, func(), error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	const goal = "at least 0.7x"
	contenders := func(runs int) []contender {
		return []contender{{"net/http", bareGets(server.URL, runs)}, {"native.http.get", ourGets(server.URL, runs)}}
	}
	return []rate{
		{comparison{"requests, one after the other", goal, contenders(1)}, requestsOfRun},
		{comparison{fmt.Sprintf("requests, of %d runs at once", requestsAtOnce), goal, contenders(requestsAtOnce)}, requestsAtOnce * requestsOfRun},
	}, server.Close, nil
}

func bareGets(url string, runs int) func() (func(int), func()) {
	return func() (func(int), func()) {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = runs // its default keeps two
		client := &http.Client{Transport: transport}
		return shared(runs, func(n int) {
			for range n {
				r := must(client.Get(url))
				if body := must(io.ReadAll(r.Body)); string(body) != "hello" {
					panic(fmt.Sprintf("got %q", body))
				}
				r.Body.Close()
			}
		}), transport.CloseIdleConnections
	}
}

func ourGets(url string, runs int) func() (func(int), func()) {
	return func() (func(int), func()) {
		policy := nativehttp.Policy{Allow: []string{strings.TrimPrefix(url, "http://")}}
		client := must(nativehttp.New(nativehttp.Options{Policy: func(tenant.ID) nativehttp.Policy { return policy }}))
		p := &process{engine: newEngine(nil, nil, nil, httpmodule.New(client))}
		return shared(runs, func(n int) {
			must(p.run(context.Background(), getScript, value.Map{"times": float64(n), "url": url}))
		}), client.CloseIdle
	}
}

// shared lets as many as make requests at once make their part, n times over.
func shared(among int, op func(requests int)) func(n int) {
	return func(n int) {
		var all sync.WaitGroup
		for range among {
			all.Go(func() { op(n * requestsOfRun) })
		}
		all.Wait()
	}
}
