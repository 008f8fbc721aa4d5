package task

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
)

func TestInvocationKeepsTheTextOfItsEventWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("a"), Limits: Limits{Concurrency: 1}})
		if err != nil {
			t.Fatal(err)
		}
		start := func(event string) *invocation {
			work, failed := h.config.Tenants.Resolve("a", "job", []byte(event))
			if failed != nil {
				t.Fatal(failed)
			}
			work.ID, work.Limits.Timeout = runtime.NewID(time.Now()), 30*time.Second
			inv, failed := h.Start(t.Context(), api.Request{Work: work, Event: []byte(event)})
			if failed != nil {
				t.Fatal(failed)
			}
			synctest.Wait()
			return inv.(*invocation)
		}
		one, two := start(`{"ms":1000}`), start(`[[],[],[]]`)
		one.mu.Lock()
		two.mu.Lock()
		if one.event != nil || two.work.Event != nil || string(two.event) != `[[],[],[]]` {
			t.Errorf("got %q of what runs, %v and %q of what waits, want the text of the latter alone", one.event, two.work.Event, two.event)
		}
		two.mu.Unlock()
		one.mu.Unlock()
		<-two.Done()
		if line, failure := two.Result(); failure != nil || !bytes.Contains(line, []byte(`"job.lua [[] [] []] 30s"`)) {
			t.Errorf("got %s, want the event", line)
		}
		two.mu.Lock()
		defer two.mu.Unlock()
		if two.event != nil || two.work != nil {
			t.Error("the event is kept with the result")
		}
	})
}
