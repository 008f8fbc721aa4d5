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
	requestsOfRun  = 50 // the least number of requests of a run, so that starting the run hardly counts
)

// getScript makes requests one after the other.
const getScript = `return function(e)
	for i = 1, e.times do
		assert(native.http.get(e.url).body == "hello")
	end
end`

// httpRates compare native.http.get with Go's own client. The server runs in the
// same process, so its work counts for both.
func httpRates() ([]rateComparison, func(), error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	const goal = "at least 0.7x"
	contenders := func(runs int) []contender {
		return []contender{{"net/http", bareGets(server.URL, runs)}, {"native.http.get", tidelockGets(server.URL, runs)}}
	}
	return []rateComparison{
		{comparison{"requests, one after the other", goal, contenders(1)}, requestsOfRun},
		{comparison{fmt.Sprintf("requests, of %d runs at once", requestsAtOnce), goal, contenders(requestsAtOnce)}, requestsAtOnce * requestsOfRun},
	}, server.Close, nil
}

func bareGets(url string, runs int) func() (func(int), func()) {
	return func() (func(int), func()) {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = runs // its default keeps two
		client := &http.Client{Transport: transport}
		return concurrently(runs, func(n int) {
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

func tidelockGets(url string, runs int) func() (func(int), func()) {
	return func() (func(int), func()) {
		policy := nativehttp.Policy{Allow: []string{strings.TrimPrefix(url, "http://")}}
		client := must(nativehttp.New(nativehttp.Options{Policy: func(tenant.ID) nativehttp.Policy { return policy }}))
		p := &process{engine: newEngine(nil, nil, nil, httpmodule.New(client))}
		return concurrently(runs, func(n int) {
			must(p.run(context.Background(), getScript, value.Map{"times": float64(n), "url": url}))
		}), client.CloseIdle
	}
}

// concurrently returns an operation that calls op in several goroutines, each
// with its share of the requests.
func concurrently(goroutines int, op func(requests int)) func(n int) {
	return func(n int) {
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() { op(n * requestsOfRun) })
		}
		all.Wait()
	}
}
