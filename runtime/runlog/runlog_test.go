package runlog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
)

func TestRecordWrite(t *testing.T) {
	record := runlog.Record{Level: zap.DebugLevel, FailedLevel: zap.WarnLevel}
	used := map[string]any{"run": "1", "durationMs": 1.5, "instructions": int64(7), "dataOps": int64(2)}
	for _, test := range []struct {
		name   string
		failed *runtime.Error
		level  string
		fields map[string]any
	}{
		{"run ended", nil, "debug", map[string]any{"ok": true}},
		{"run failed", runtime.Errorf(runtime.Timeout, "late"), "warn",
			map[string]any{"ok": false, "errorType": "Script.Timeout", "errorMessage": "late", "retryable": false}},
		{"run failed", &runtime.Error{Type: runtime.HostInternal, Message: "script \"a\" can't be read", Retryable: true, Cause: errors.New("too many open files")}, "warn",
			map[string]any{"ok": false, "errorType": "Host.Internal", "errorMessage": "script \"a\" can't be read", "retryable": true, "cause": "too many open files"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			core, logs := observer.New(zap.DebugLevel)
			record.Write(zap.New(core), &runtime.Result{
				Duration: 1500 * time.Microsecond, Counters: runtime.Counters{Instructions: 7, DataOps: 2},
				Error: test.failed, Incidents: []error{errors.New("a panic")},
			}, zap.String("run", "1"))
			all := logs.All()
			if len(all) != 2 || all[0].Level != zap.ErrorLevel || all[0].ContextMap()["error"] != "a panic" || all[0].ContextMap()["run"] != "1" {
				t.Fatalf("got %v, want a record of the incident and one of the run", all)
			}
			want := map[string]any{}
			for _, fields := range []map[string]any{used, test.fields} {
				for name, value := range fields {
					want[name] = value
				}
			}
			got := all[1]
			if diff := cmp.Diff(want, got.ContextMap()); diff != "" || got.Message != test.name || got.Level.String() != test.level {
				t.Errorf("got %s %s (-want +got):\n%s", got.Level, got.Message, diff)
			}
		})
	}
}
