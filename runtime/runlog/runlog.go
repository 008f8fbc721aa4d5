// Package runlog tells a host's log how runs ended, in the same way for all
// hosts.
package runlog

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tidelock-lua/tidelock/runtime"
)

// Record is the record that a host writes about a run.
type Record struct {
	// Message and Level are those of a run that has returned a value.
	Message string
	Level   zapcore.Level
	// FailedMessage and FailedLevel are those of a run that has failed.
	FailedMessage string
	FailedLevel   zapcore.Level
	// ErrorFields describes the error of a run that has failed.
	ErrorFields func(*runtime.Error) []zap.Field
}

// Write writes the record of one run, with the fields given and what the run
// used, and before it one record for each of the run's incidents.
func (r Record) Write(log *zap.Logger, result *runtime.Result, fields ...zap.Field) {
	Incidents(log, result.Incidents...)
	fields = append(fields,
		zap.Float64("durationMs", Millis(result.Duration)), zap.Int64("instructions", result.Counters.Instructions),
		zap.Int64("dataOps", result.Counters.DataOps))
	if result.Error == nil {
		log.Log(r.Level, r.Message, fields...)
		return
	}
	log.Log(r.FailedLevel, r.FailedMessage, append(fields, r.ErrorFields(result.Error)...)...)
}

// Incidents writes a record for each Go panic or error below a script.
func Incidents(log *zap.Logger, incidents ...error) {
	for _, incident := range incidents {
		log.Error("a native call failed in a way that the script may not see", zap.Error(incident))
	}
}

// Millis is a duration in milliseconds, as results and logs show it.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
