package lock_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestRowIsAsDocumented(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		now := p.clock.Read()
		date := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		s.SetClock(func() time.Time { return date })
		p.time.Observe(at(now, date))
		time.Sleep(300 * time.Microsecond)

		l := p.acquire(t, func(r *lock.Request) {
			r.Lease = 30_000_400 * time.Microsecond
			r.By = lock.Holder{HostKind: "task", HostName: "ip-10-0-3-7", Process: "17", Run: "r1", Script: "import"}
		})
		l.Row.Owner = "fresh"
		stored, _ := json.MarshalIndent(struct {
			P, K, Owner  string
			Start, Until lock.UnixMilli
			By           lock.Holder
			X            int64
		}{l.Row.Key.Partition(), l.Row.Key.Name, l.Row.Owner, l.Row.Start, l.Row.Until, l.Row.By, l.Row.Expiry()}, "", " ")
		// start is the date and 1250.3 ms, rounded up; until 30,001 + 15.0005 + 2000 ms
		// later, rounded up; x a day after that, in seconds, rounded up.
		const want = `{
 "P": "acme/!locks",
 "K": "import-42",
 "Owner": "fresh",
 "Start": 1795953601251,
 "Until": 1795953633268,
 "By": {
  "HostKind": "task",
  "HostName": "ip-10-0-3-7",
  "Process": "17",
  "Run": "r1",
  "Script": "import"
 },
 "X": 1796040034
}`
		if string(stored) != want {
			t.Errorf("got row %s\nwant %s", stored, want)
		}
	})
}

func TestKeysAreUnique(t *testing.T) {
	keys := map[[2]string]lock.Key{}
	for _, k := range []lock.Key{{"a", "b"}, {"a", "!locks/b"}, {"ab", ""}, {"a-b", "b"}, {"a", "b/!locks"}, {"b", "b"}} {
		at := [2]string{k.Partition(), k.Name}
		if other, ok := keys[at]; ok {
			t.Errorf("%v and %v are both stored as %v", k, other, at)
		}
		keys[at] = k
	}
}
