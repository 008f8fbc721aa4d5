package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// The endpoint is a base URL in each command that runs scripts.
func TestSpansGoBelowTheEndpoint(t *testing.T) {
	inFolder(t, "")
	if err := os.WriteFile("a.lua", []byte("return 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"run a.lua", "repl"} {
		got := make(chan string, 100)
		collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- r.URL.Path + " " + string(body)
			_, _ = io.WriteString(w, "{}")
		}))
		t.Setenv("TIDELOCK_TRACE__ENDPOINT", collector.URL)
		if out, code, err := tidelock(t, strings.Fields(args)...); code != 0 || err != nil {
			t.Errorf("%s: %d, %v, %s", args, code, err, out)
		}
		collector.Close()
		close(got)
		all := ""
		for request := range got {
			all += request
		}
		if !strings.HasPrefix(all, "/v1/traces ") || !strings.Contains(all, `"name":"run"`) || !strings.Contains(all, `"service.version"`) {
			t.Errorf("%s: got %s", args, all)
		}
	}
}
