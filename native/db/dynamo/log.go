package dynamo

import (
	"fmt"

	"github.com/aws/smithy-go/logging"
	"go.uber.org/zap"
)

// sdkLog passes what the SDK logs, which otherwise goes to standard error, to zap.
type sdkLog struct{ log *zap.Logger }

// Logf implements [logging.Logger].
func (l sdkLog) Logf(classification logging.Classification, format string, v ...any) {
	level := zap.DebugLevel
	if classification == logging.Warn {
		level = zap.WarnLevel
	}
	l.log.Log(level, "DynamoDB client", zap.String("detail", fmt.Sprintf(format, v...)))
}
