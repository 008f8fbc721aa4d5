package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestScripts(t *testing.T) { nativetest.Scripts(t, modules) }
func TestDocs(t *testing.T)    { nativetest.Docs(t, "../../docs/stream.md", modules) }

// withHost runs test with a host in fake time, and requires that nothing stays
// open.
func withHost(t *testing.T, test func(t *testing.T, m *nativetest.Machine, h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		m := nativetest.New(t, h.modules)
		test(t, m, h)
		synctest.Wait()
		if n := h.open.Load(); n != 0 {
			t.Errorf("%d streams and outputs are left open", n)
		}
	})
}

func TestReadEndsWithTheLeaseAndReleasesTheLock(t *testing.T) {
	for name, read := range map[string]string{
		"read":       `native.stream.open("stalled"):read(1)`,
		"read_all":   `native.stream.open("stalled"):read_all()`,
		"lines":      `for _ in native.stream.open("stalled"):lines() do end`,
		"json_lines": `for _ in native.stream.open("stalled"):json_lines() do end`,
		"csv":        `for _ in native.stream.open("stalled"):csv() do end`,
		"caught":     `while true do pcall(function() return native.stream.open("stalled"):read(1) end) end`,
	} {
		t.Run(name, func(t *testing.T) {
			withHost(t, func(t *testing.T, m *nativetest.Machine, h *host) {
				m.Expect(t, `["deadline exceeded",5000,true]`, `
					local before = native.time()
					local ok, err = pcall(native.lock.with, "a", { lease_ms = 5000 }, function() `+read+` end)
					local took = math.floor((native.time() - before) * 1000 + 0.5)
					return { err, took, (native.lock.with("a", function() end)) }`)
				if h.expired.Load() != 0 {
					t.Error("the lock was left to expire, though nothing was written")
				}
			})
		})
	}
}

func TestReadThatIsInterruptedClosesTheStream(t *testing.T) {
	withHost(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
		m.Expect(t, `["stream_closed",3]`, `
			local s = native.stream.open("stalled")
			pcall(native.deadline.with, 100, s.read, s)
			assert(native.test.open() == 0)
			local _, err = pcall(s.read, s)
			-- One that was read in time goes on.
			local slow, n = native.stream.open("drop"), 0
			for line in slow:lines() do
				n = n + 1
				pcall(native.deadline.with, 2000, function() end)
			end
			return { err.code, n }`)
	})
}

func TestWriteThatIsInterruptedLetsTheLocksAroundItExpire(t *testing.T) {
	withHost(t, func(t *testing.T, m *nativetest.Machine, h *host) {
		m.Expect(t, `["deadline exceeded",false,"stream_closed"]`, `
			local out = native.stream.create("stuck")
			local ok, err = pcall(native.lock.with, "a", { lease_ms = 1000 }, out.write, out)
			local ok, err = pcall(native.lock.with, "a", { lease_ms = 1000 }, function() out:write("x") end)
			local again = native.lock.with("a", function() end)
			local _, closed = pcall(out.write, out, "y")
			return { err, again, closed.code }`)
		if n := h.expired.Load(); n != 1 {
			t.Errorf("%d leases were left to expire, want the one with the write", n)
		}
	})
}

func TestWriteWithAKnownOutcomeReleasesTheLock(t *testing.T) {
	withHost(t, func(t *testing.T, m *nativetest.Machine, h *host) {
		m.Expect(t, `[true,true]`, `
			pcall(native.lock.with, "a", function() native.stream.create("full"):write("x") end)
			local first = native.lock.with("a", function() native.stream.create("file"):write("x") end)
			return { first, (native.lock.with("a", function() end)) }`)
		if n := h.expired.Load(); n != 0 {
			t.Errorf("%d leases were left to expire", n)
		}
	})
}

func TestSetIsClosedWithItsRun(t *testing.T) {
	const open = `local s = native.stream.open("stalled") native.stream.create("stuck") native.stream.create("file"):write("x") `
	for name, end := range map[string]string{
		"return": `return`,
		"error":  `error("x")`,
		"limit":  `while true do end`,
		"wait":   `s:read(1)`,
	} {
		t.Run(name, func(t *testing.T) {
			withHost(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
				m.Invoke(t.Context(), runtime.Invocation{
					Tenant: "a", Script: "test.lua", Source: open + end, Limits: tenant.Limits{Timeout: time.Second},
				})
			})
		})
	}
}

func TestStreamsOfAnotherTenantAreUnknown(t *testing.T) {
	withHost(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
		r := m.Run(t, "b", `
			local _, err = pcall(native.stream.open, "file")
			return err.message`)
		if got := string(r.JSON); got != `"there is none of this name: the host has named none; tidelock run names one by --stream file=FILE"` {
			t.Errorf("got %s, %v", got, r.Error)
		}
	})
}

// The limit is a few times smaller than what the script asks for.
func TestReadChargesWhatItBuffers(t *testing.T) {
	for name, source := range map[string]string{
		"text":   `native.stream.open("endless"):read_all(2^30)`,
		"bytes":  `native.stream.open("endless"):read(2^30)`,
		"record": `for _ in native.stream.open("endless"):csv{ limit = 2^24 } do end`,
	} {
		t.Run(name, func(t *testing.T) {
			withHost(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
				r := m.Invoke(t.Context(), runtime.Invocation{
					Tenant: "a", Script: "test.lua", Source: source, Limits: tenant.Limits{MemoryBytes: 4 << 20},
				})
				if r.Error == nil || r.Error.Type != runtime.LimitExceeded {
					t.Errorf("got %v, want the memory limit", r.Error)
				}
			})
		})
	}
}
