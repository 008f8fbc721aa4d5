package locktable_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/task/locktable"
)

// These are the fields of a lock over HTTP and in the output of commands.
func TestStatusOfHasOneForm(t *testing.T) {
	row := lock.Row{Key: lock.Key{Tenant: "a", Name: "job"}, Owner: "o", Start: 1000, Until: 3000, By: lock.Holder{HostKind: "task", Run: "r"}}
	for _, test := range []struct {
		left time.Duration
		want string
	}{
		{1500 * time.Millisecond, `{"name":"job","owner":"o","since":"1970-01-01T00:00:01Z","until":"1970-01-01T00:00:03Z","age_ms":500,"left_ms":1500,"ran_out":false,"by":{"host_kind":"task","run":"r"}}`},
		{-time.Second, `{"name":"job","owner":"o","since":"1970-01-01T00:00:01Z","until":"1970-01-01T00:00:03Z","age_ms":500,"left_ms":0,"ran_out":true,"by":{"host_kind":"task","run":"r"}}`},
	} {
		text, err := json.Marshal(locktable.StatusOf(lock.LockInfo{Row: row, Age: 500 * time.Millisecond, Left: test.left}))
		if err != nil || string(text) != test.want {
			t.Errorf("got %s, %v; want %s", text, err, test.want)
		}
	}
}
