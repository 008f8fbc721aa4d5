// Package runlog writes records of how runs ended, the same in all hosts.
// docs/logs.md lists their fields.
package runlog

import (
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/runtime"
)

// Record is the record that a host writes about a run.
type Record struct {
	// Level is that of a run that has returned a value, FailedLevel that of one
	// that has failed.
	Level, FailedLevel zapcore.Level
}

// The messages of the two kinds of records.
const (
	messageEnded  = "run ended"
	messageFailed = "run failed"
)

// Run returns the fields that identify a run.
func Run(tenant, script, id string) []zap.Field {
	fields := make([]zap.Field, 0, 12) // room for those of a run that ends well
	return append(fields, zap.String("tenantId", tenant), zap.String("script", script), zap.String("runId", id))
}

// Write writes the record of one run, with the fields given and what the run
// used, and before it one record for each of the run's incidents.
func (r Record) Write(log *zap.Logger, result *runtime.Result, fields ...zap.Field) {
	for _, incident := range result.Incidents {
		log.Error(messageIncident, append(fields[:len(fields):len(fields)], zap.Error(outcome.Detailed(incident)))...)
	}
	fields = append(fields, zap.Bool("ok", result.Error == nil),
		zap.Float64("durationMs", Millis(result.Duration)), zap.Int64("instructions", result.Counters.Instructions),
		zap.Int64("dataOps", result.Counters.DataOps))
	if result.Error == nil {
		log.Log(r.Level, messageEnded, fields...)
		return
	}
	log.Log(r.FailedLevel, messageFailed, append(fields, ErrorFields(result.Error)...)...)
}

const messageIncident = "a native call failed in a way that the script may not see"

// Incidents writes a record for each Go panic or error below a script.
func Incidents(log *zap.Logger, incidents ...error) {
	for _, incident := range incidents {
		log.Error(messageIncident, zap.Error(outcome.Detailed(incident)))
	}
}

// Bounds of an error in a record, in bytes and in frames. Collectors split records
// at 16 KiB, and each byte of the message may take six of it. A script may raise any
// code.
const (
	MessageMax = 1500
	CodeMax    = 200
	FramesMax  = 10
)

// ErrorFields are an error in a record, with its cause if the host knows one.
func ErrorFields(e *runtime.Error) []zap.Field {
	message, isCut := cut(e.Message, MessageMax)
	fields := []zap.Field{
		zap.String("errorType", string(e.Type)), zap.String("errorMessage", message), zap.Bool("retryable", e.Retryable),
	}
	if e.Code != "" {
		code, long := cut(e.Code, CodeMax)
		if long {
			code += "..."
		}
		fields = append(fields, zap.String("errorCode", code))
	}
	if e.Line > 0 {
		file, _ := cut(e.File, CodeMax)
		fields = append(fields, zap.String("file", file), zap.Int("line", e.Line))
	}
	if len(e.Stack) > 0 {
		isCut = isCut || len(e.Stack) > FramesMax
		fields = append(fields, zap.Any("stack", e.Stack[:min(len(e.Stack), FramesMax)]))
	}
	if e.Cause != nil {
		fields = append(fields, zap.NamedError("cause", outcome.Detailed(e.Cause)))
	}
	if isCut {
		fields = append(fields, zap.Bool("truncated", true))
	}
	return fields
}

// cut shortens a text to max bytes at most.
func cut(s string, max int) (short string, isCut bool) {
	if len(s) <= max {
		return s, false
	}
	return strings.ToValidUTF8(s[:max], ""), true
}

// Millis is a duration in milliseconds, as results and logs show it.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
