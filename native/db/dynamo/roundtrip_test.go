package dynamo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// deadConn is a connection whose other side has gone while it was idle: once
// it is dead, nothing can be written to it.
type deadConn struct {
	net.Conn
	dead *atomic.Bool
}

func (c deadConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return 0, errors.New("broken pipe")
	}
	return c.Conn.Write(b)
}

func TestDeadConnectionCostsNoAttempt(t *testing.T) {
	var requests atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amzn-Requestid", fmt.Sprintf("ID%d", requests.Add(1)))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amz-Crc32", "2745614147") // of {}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(service.Close)
	store, err := Open(t.Context(), clock.NewDual(clock.System()), Options{
		Table: "test", Region: "eu-west-1", Endpoint: service.URL,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	var first atomic.Bool // whether the first connection is dead
	dialed := 0
	store.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if dialed++; dialed == 1 {
			return deadConn{conn, &first}, err
		}
		return conn, err
	}
	put := db.Write{Kind: db.Put, Key: db.Key{Partition: "acme/users", Key: "key"}, Value: 1.0, Rev: "rev"}
	for n := range 2 {
		if a := store.Write(t.Context(), put, 1); a.Outcome != outcome.Applied {
			t.Fatalf("write %d: got outcome %d and %v, want applied", n+1, a.Outcome, a.Err)
		}
		first.Store(true)
	}
	if n := requests.Load(); n != 2 || dialed != 2 {
		t.Errorf("the service saw %d requests over %d connections, want 2 over 2", n, dialed)
	}
}
