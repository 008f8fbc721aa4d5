package dynamo

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// suspended is a clock whose monotonic side stands still while the wall clock
// is moved: timers know nothing of the time that passes.
type suspended struct {
	clock.Clock
	ahead atomic.Int64
}

func (c *suspended) Now() clock.Instant {
	now := c.Clock.Now()
	now.Wall = now.Wall.Add(time.Duration(c.ahead.Load()))
	return now
}

// TestSuspendedProcessWritesNothingAfterItsDeadline stops the machine between
// the gate and the bytes: while a connection is made.
func TestSuspendedProcessWritesNothingAfterItsDeadline(t *testing.T) {
	for name, value := range map[string]string{"a small write": "x", "a large write": strings.Repeat("x", 100_000)} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					requests.Add(1)
				}
			}))
			t.Cleanup(service.Close)
			clk := &suspended{Clock: clock.System()}
			dual := clock.NewDual(clk)
			store, err := Open(t.Context(), dual, Options{
				Table: "test", Region: "eu-west-1", Endpoint: service.URL,
				Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			store.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				clk.ahead.Store(int64(time.Hour))
				return conn, err
			}
			run := vm.NewRun(vm.Config{Clock: dual, Limits: vm.Limits{Timeout: time.Minute}})
			t.Cleanup(run.Close)
			ctx := run.Context()
			t.Cleanup(ctx.Stop)

			put := db.Write{Kind: db.Put, Key: db.Key{Partition: "acme/users", Key: "key"}, Value: value, Rev: "rev"}
			a := store.Write(ctx, put, 1)
			if a.Outcome != outcome.NotApplied || a.Err == nil {
				t.Errorf("got outcome %d and %v, want not applied", a.Outcome, a.Err)
			}
			if n := requests.Load(); n != 0 {
				t.Errorf("the service saw %d whole requests, want none", n)
			}
			if d := store.DeleteLock(clock.Detach(ctx), lock.Key{Tenant: "acme", Name: "l"}, "owner"); requests.Load() != 1 {
				t.Errorf("a release after the end was held back: %v", d.Err)
			}
		})
	}
}
