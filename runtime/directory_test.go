package runtime_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestDirectoryResolve(t *testing.T) {
	own := fstest.MapFS{"import.lua": {Data: []byte("return 1")}, "jobs/daily.lua": {Data: []byte("return 2")}, "notes.txt": {}}
	shared := fstest.MapFS{"lib.lua": {Data: []byte("return 3")}}
	d := runtime.Directory{
		"acme":  {ID: "acme", Scripts: []fs.FS{own, shared}, Limits: tenant.Limits{Timeout: time.Second}},
		"empty": {ID: "empty"},
	}
	for _, test := range []struct {
		tenant, script, event string
		want                  runtime.ErrorType // "" for none
		source                string
	}{
		{"acme", "import", "", "", "return 1"},
		{"acme", "import.lua", "null", "", "return 1"},
		{"acme", "jobs/daily", "{}", "", "return 2"},
		{"acme", "lib", "", runtime.ScriptNotFound, ""},
		{"acme", "notes.txt", "", runtime.ScriptNotFound, ""},
		{"acme", "../acme/import", "", runtime.ScriptNotFound, ""},
		{"acme", "/import", "", runtime.ScriptNotFound, ""},
		{"acme", "", "", runtime.ScriptNotFound, ""},
		{"acme", "imp\x00rt", "", runtime.ScriptNotFound, ""},
		{"acme", strings.Repeat("x", 1e6), "", runtime.ScriptNotFound, ""},
		{"empty", "import", "", runtime.ScriptNotFound, ""},
		{"other", "import", "", runtime.TenantUnknown, ""},
		{"ACME", "import", "", runtime.TenantUnknown, ""},
		{"", "import", "", runtime.TenantUnknown, ""},
		{"acme", "import", "{", runtime.EventInvalid, ""},
		{"acme", "import", `"\xff"`, runtime.EventInvalid, ""},
		{"acme", "import", "{} {}", runtime.EventInvalid, ""},
		{"acme", "import", strings.Repeat(" ", runtime.EventBytesMax+1), runtime.EventTooLarge, ""},
	} {
		inv, err := d.Resolve(test.tenant, test.script, []byte(test.event))
		switch {
		case test.want == "" && (err != nil || inv.Source != test.source || inv.Limits.Timeout != time.Second):
			t.Errorf("%.40q of %q: got %+v, %v", test.script, test.tenant, inv, err)
		case test.want != "" && (err == nil || err.Type != test.want || len(err.Message) > 1000):
			t.Errorf("%.40q of %q: got %v, want %s, and that short", test.script, test.tenant, err, test.want)
		}
	}
}

func TestResultMarshalJSON(t *testing.T) {
	for _, test := range []struct {
		result runtime.Result
		want   string
	}{
		{runtime.Result{ID: "1", JSON: []byte(`{"type":"Script.Timeout","x":"<&>"}`), Duration: 1500 * time.Microsecond},
			`{"id":"1","ok":true,"value":{"type":"Script.Timeout","x":"<&>"},"started_at":"0001-01-01T00:00:00Z","duration_ms":1.5,"counters":{"instructions":0,"data_ops":0}}`},
		{runtime.Result{ID: "2", Error: runtime.Errorf(runtime.TenantThrottled, "too many")},
			`{"id":"2","ok":false,"error":{"type":"Tenant.Throttled","message":"too many","retryable":true,"stack":[]},"started_at":"0001-01-01T00:00:00Z","duration_ms":0,"counters":{"instructions":0,"data_ops":0}}`},
	} {
		got, err := test.result.MarshalJSON()
		if err != nil || string(got) != test.want || !json.Valid(got) {
			t.Errorf("got %s, %v; want %s", got, err, test.want)
		}
	}
}
