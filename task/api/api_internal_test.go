package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
)

func TestNewRefusesBadTokens(t *testing.T) {
	for name, token := range map[string]Token{
		"no hash":             {Tenant: "a", SHA256: "token"},
		"half a hash":         {Tenant: "a", SHA256: HashOf("t")[:32]},
		"nobody's":            {SHA256: HashOf("t")},
		"a tenant's and more": {Tenant: "a", Operator: true, SHA256: HashOf("t")},
		"empty":               {Tenant: "a", SHA256: HashOf("")},
		"unknown tenant's":    {Tenant: "b", SHA256: HashOf("t")},
	} {
		if _, err := New(Config{Tenants: runnertest.Tenants("a"), Tokens: []Token{token}}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

func TestTraceIDIsReadFromTraceparent(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for text, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":                      id,
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01": "",
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":     "",
		"00-" + id: "", "": "",
	} {
		if got := traceID(http.Header{"Traceparent": {text}}); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestTraceIDIsNotReadFromALongTraceparent(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	h := http.Header{"Traceparent": {"00-" + id + "-00f067aa0ba902b7-01-" + strings.Repeat("x", traceParentMax)}}
	if got := traceID(h); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

func TestLockStatusShowsWhatHasRunOut(t *testing.T) {
	row := lock.Row{Until: 1000}
	if got := statusOf(row, time.UnixMilli(1000)); !got.RanOut || got.LeftMillis != 0 {
		t.Errorf("got %+v, want one that has run out", got)
	}
	if got := statusOf(row, time.UnixMilli(999)); got.RanOut || got.LeftMillis != 1 {
		t.Errorf("got %+v, want one that has 1 ms left", got)
	}
}
