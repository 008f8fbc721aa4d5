package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestTenantsShareNoPartition(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *harness) {
		for range 2 { // the second time all is there
			for _, id := range []tenant.ID{"a", "b"} {
				got := h.mustRun(t, id, `
					local p = native.db.open("partition")
					local seen = p:get("key") or native.context.tenant
					p:put("key", native.context.tenant)
					p:add("counter", 1)
					return { seen, #p:list().items, p:get_many{ "key", "counter" }.key }`)
				if want := fmt.Sprintf(`[%q,2,%q]`, id, id); got != want {
					t.Errorf("tenant %s: got %s, want %s", id, got, want)
				}
			}
		}
	})
}

func TestTenantsShareNoLock(t *testing.T) {
	for _, scope := range []string{"db", "local"} {
		inFakeTime(t, func(t *testing.T, h *harness) {
			const script = `
				return { native.lock.with("job", { scope = %[1]q }, function()
					local try = "return (native.lock.with('job', { scope = '%[1]s' }, function() end))"
					return native.test.run(try), native.test.run(try, "b"), native.test.run(try, "a-b")
				end) }`
			got := h.mustRun(t, "a", fmt.Sprintf(script, scope))
			if want := `[true,"false","true","true"]`; got != want {
				t.Errorf("%s: got %s, want %s", scope, got, want)
			}
		})
	}
}

// intrusion tries to reach rows by three strings: a partition's name, a key and a
// lock's name. Whatever they are, it must find only rows of its own.
const intrusion = `return function(event)
	local name, key, lock = event.name, event.key, event.lock
	local found = {}
	local function try(ok, p)
		if not ok then return end
		for _, bounds in ipairs{ {}, { prefix = key }, { after = key }, { before = key }, { reverse = true } } do
			pcall(function()
				for k, v in p:each(bounds) do found[#found + 1] = { k, v } end
			end)
		end
		pcall(function() found[#found + 1] = { key, p:get(key) } end)
		pcall(function() found[#found + 1] = { key, p:get_many{ key }[key] } end)
		pcall(p.delete, p, key)
		pcall(p.put, p, key, "a")
		pcall(p.add, p, key, 1)
		pcall(p.update, p, key, function() return "a" end)
		pcall(native.db.atomic, { { "put", p, key, "a" } })
	end
	try(pcall(native.db.open, name))
	try(pcall(native.db.open, "partition"))
	for _, scope in ipairs{ "db", "local" } do
		pcall(native.lock.with, lock, { scope = scope }, function()
			try(pcall(native.db.open, name))
		end)
	end
	local strange
	for _, row in ipairs(found) do
		if row[2] ~= nil and row[2] ~= "a" and row[2] ~= 1 then strange = row end
	end
	return strange
end`

// checkIntrusion runs the intrusion as tenant a, beside the rows and the locks of
// tenant b and the locks of tenant a itself.
func checkIntrusion(t *testing.T, name, key, lockName string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.mustRun(t, "b", `
			local p = native.db.open("partition")
			for _, k in ipairs{ "a", "b", "key", "!locks", "a/!locks" } do p:put(k, "of b") end`)
		h.holdLock(t, "a", "held")
		h.holdLock(t, "b", "held")
		r := h.runEvent(t, "a", intrusion, map[string]any{"name": name, "key": key, "lock": lockName})
		if r.Error != nil || string(r.JSON) != "null" {
			t.Errorf("partition %q, key %q, lock %q: got %s %v, want nothing of others", name, key, lockName, r.JSON, r.Error)
		}
		for _, id := range []tenant.ID{"a", "b"} {
			page := h.store.ListLocks(t.Context(), id, "")
			if len(page.Rows) != 1 || page.Rows[0].Owner != "another" {
				t.Errorf("partition %q, key %q, lock %q: tenant %s has the locks %v", name, key, lockName, id, page.Rows)
			}
		}
		// No row lies where neither tenant's partitions are.
		for _, partition := range []string{"a/!locks", "b/!locks", "!locks", "/!locks", "a", "b", ""} {
			rows := h.store.Query(t.Context(), db.Query{Partition: partition, Low: "\x00", High: "\U0010FFFF"})
			if len(rows.Items) != 0 {
				t.Errorf("partition %q, key %q, lock %q: rows in %q", name, key, lockName, partition)
			}
		}
		if got, want := h.mustRun(t, "b", `
			local all = {}
			for k, v in native.db.open("partition"):each() do all[#all + 1] = v end
			return all`), `["of b","of b","of b","of b","of b"]`; got != want {
			t.Errorf("partition %q, key %q, lock %q: tenant b has %s, want %s", name, key, lockName, got, want)
		}
	})
}

// fragments are parts of forged names.
var fragments = []string{
	"a", "b", "/", "!locks", "!", "..", ".", "%2f", "%", "\\", "\x00", "\xff", "\n", " ", ":", "#", "partition", "key",
	"held", "native:", "\U0010FFFF", "\u2215", "A", "_", "-", strings.Repeat("x", 510),
}

func forged(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteString(fragments[r.IntN(len(fragments))])
	}
	return b.String()
}

func TestForgedNamesReachNoLockOrOtherTenant(t *testing.T) {
	for _, name := range []string{"!locks", "a/!locks", "b/!locks", "../b/partition", "b/partition", "/b/partition", "partition/../!locks"} {
		checkIntrusion(t, name, "held", "held")
		checkIntrusion(t, "partition", name, name)
	}
	const seed = 1
	r := rand.New(rand.NewPCG(seed, seed))
	for range 200 {
		checkIntrusion(t, forged(r), forged(r), forged(r))
	}
}

func FuzzForgedNamesReachNoLockOrOtherTenant(f *testing.F) {
	f.Add("!locks", "held", "held")
	f.Add("a/!locks", "b/held", "../held")
	f.Add("partition\x00", "\xff", "native:job")
	f.Fuzz(checkIntrusion)
}
