package lambda

import (
	"context"
	stdlog "log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
)

// Serve compiles all scripts and then answers the invocations of the platform,
// as many at once as AWS_LAMBDA_MAX_CONCURRENCY allows. It doesn't return: the
// process exits with 0 on SIGTERM, and with 1 if the platform doesn't respond, or
// after a run that has not come back. The standard logger writes to Config.Log
// from then on.
func (h *Host) Serve() {
	h.compile()
	stdlog.SetFlags(0)
	stdlog.SetPrefix("")
	stdlog.SetOutput(standardLog{h.Log})
	loops := lambdacontext.MaxConcurrency()
	a := newRuntimeAPI(os.Getenv("AWS_LAMBDA_RUNTIME_API"), loops)
	h.awaitSIGTERM(a)
	h.Log.Error("the process ends", zap.Error(h.serve(context.Background(), a, loops)))
	h.Exit(1)
}

// awaitSIGTERM ends the process on SIGTERM, which the platform sends only where an
// extension is registered.
func (h *Host) awaitSIGTERM(a *runtimeAPI) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		h.terminate()
	}()
	h.register(a)
}

// register registers the extension, which then waits for events that never come.
func (h *Host) register(a *runtimeAPI) {
	ctx, cancel := context.WithTimeout(context.Background(), initTime)
	defer cancel()
	id, err := a.register(ctx, "tidelock")
	if err != nil {
		h.logNoSIGTERM(err)
		return
	}
	go func() { h.logNoSIGTERM(a.awaitEvent(context.Background(), id)) }()
}

func (h *Host) logNoSIGTERM(err error) {
	h.Log.Warn("the platform may end the process without SIGTERM: locks that are held then run out", zap.Error(err))
}

// Bounds of what happens after SIGTERM. The platform kills after 500 ms.
const (
	stopTime     = 350 * time.Millisecond // for runs to release their locks
	responseTime = 50 * time.Millisecond  // for responses to be sent after Invoke has returned them
)

// terminate cancels all runs and ends the process.
func (h *Host) terminate() {
	h.stop(runtime.Shutdown{})
	idle, busy := h.inFlight.close()
	late := time.NewTimer(stopTime)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
		h.Log.Warn("a run has not come back before the end of the process")
	}
	h.flush(context.Background(), responseTime)
	if busy {
		<-time.After(responseTime)
	}
	h.Exit(0)
}

// standardLog logs what libraries print.
type standardLog struct{ log *zap.Logger }

func (w standardLog) Write(text []byte) (int, error) {
	// net/http prints what a server sends unasked: a tenant's data.
	message, _, _ := strings.Cut(strings.TrimSpace(string(text)), " starting with ")
	w.log.Warn(message)
	return len(text), nil
}
