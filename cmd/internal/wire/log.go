package wire

import (
	"cmp"
	stdjson "encoding/json"
	"io"
	stdlog "log"
	"math"
	"strings"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// NewLog returns a log that writes whole records to w, one at a time: as lines
// for a console, or as JSON with the names that Lambda gives to fields.
func NewLog(w io.Writer, console bool) *zap.Logger {
	sink := zapcore.Lock(zapcore.AddSync(w))
	c := zapcore.EncoderConfig{
		TimeKey: "timestamp", LevelKey: "level", MessageKey: "message", NameKey: "logger",
		EncodeTime: zapcore.RFC3339NanoTimeEncoder, EncodeLevel: zapcore.CapitalLevelEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
	}
	if console {
		c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(c), sink, zap.DebugLevel))
	}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(c), sink, zap.DebugLevel))
}

// RedirectStandardLog sends what libraries print to the standard logger to log.
func RedirectStandardLog(log *zap.Logger) {
	stdlog.SetFlags(0)
	stdlog.SetPrefix("")
	stdlog.SetOutput(libraryLog{log})
}

type libraryLog struct{ log *zap.Logger }

func (l libraryLog) Write(text []byte) (int, error) {
	// net/http prints what a server sends unasked: a tenant's data.
	message, _, _ := strings.Cut(strings.TrimSpace(string(text)), " starting with ")
	l.log.Warn(message)
	return len(text), nil
}

// recordBytesMax is where records are cut: collectors split lines of 16 KiB.
const recordBytesMax = 15 << 10

// scriptLog is the log of one run.
type scriptLog struct{ log *zap.Logger }

// ScriptLog returns the log of a run. Its records have tenant, script and run.
func ScriptLog(log *zap.Logger, inv *runtime.Invocation) native.Logger {
	return scriptLog{log.With(zap.String("tenantId", string(inv.Tenant)), zap.String("script", inv.Script), zap.String("runId", inv.ID))}
}

var levels = map[string]zapcore.Level{
	"debug": zap.DebugLevel, "info": zap.InfoLevel, "warn": zap.WarnLevel, "error": zap.ErrorLevel,
}

// Level returns the level with a name of the configuration. The default is debug.
func Level(name string) zapcore.Level { return levels[cmp.Or(name, "debug")] }

// Log writes a record. Its text and fields are values of the record, escaped
// by the encoder: a script can't forge a line or a field of ours. What is too
// long is cut and the record marked.
func (s scriptLog) Log(level, message string, fields value.Map) {
	var out []zap.Field
	text := strings.ToValidUTF8(message, "\uFFFD")
	short, left := cut(text, recordBytesMax)
	truncated := len(short) < len(text)
	if len(fields) > 0 {
		encoded, err := json.Encode(fields, "fields", math.MaxInt)
		switch {
		case err != nil:
			problem, _ := cut(err.Error(), 1000)
			out = append(out, zap.String("fieldsError", problem))
		case len(encoded) > left:
			truncated = true
			part, _ := cut(string(encoded), left)
			out = append(out, zap.String("fieldsText", part))
		default:
			out = append(out, zap.Reflect("fields", stdjson.RawMessage(encoded)))
		}
	}
	if truncated {
		out = append(out, zap.Bool("truncated", true))
	}
	s.log.Log(levels[level], short, out...)
}

// cut shortens valid UTF-8 so that it takes at most max bytes as JSON, and
// returns how many of them are left.
func cut(s string, max int) (short string, left int) {
	for i, r := range s {
		size := utf8.RuneLen(r)
		switch {
		case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
			size = 2
		case r < ' ':
			size = len(`\u0000`)
		}
		if max -= size; max < 0 {
			return s[:i], 0
		}
	}
	return s, max
}
