package http_test

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/tenant"
)

// A host sets what each of its tenants may reach. Nothing else is even looked up.
func Example() {
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	defer server.Close()
	client, err := http.New(http.Options{
		Policy: func(id tenant.ID) http.Policy {
			if id != "acme" {
				return http.Policy{}
			}
			return http.Policy{Allow: []string{server.Listener.Addr().String()}}
		},
	})
	if err != nil {
		panic(err)
	}
	defer client.CloseIdle()

	ctx, quiet := context.Background(), func(int) {}
	caller := stream.Caller{Context: ctx, CheckInterrupt: func() {}, Charge: quiet, Step: quiet}
	for _, id := range []tenant.ID{"acme", "another"} {
		resp, err := client.Do(ctx, id, &http.Request{Op: "get", Method: "GET", URL: server.URL})
		if err != nil {
			fmt.Println(id, "may not:", err.Error()[:len("net_blocked")])
			continue
		}
		body, _ := resp.ReadAll(caller)
		resp.Close()
		fmt.Println(id, resp.Status, body)
	}
	// Output:
	// acme 200 hello
	// another may not: net_blocked
}
