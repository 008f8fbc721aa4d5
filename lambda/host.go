package lambda

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
)

// Config configures a host. Engine, Clock, Log and RunLog are required.
type Config struct {
	// Engine runs the scripts.
	Engine *runtime.Engine
	// Clock is the engine's clock.
	Clock *clock.Dual
	// Tenants are the tenants whose scripts may run.
	Tenants runtime.Directory
	// Routes name the script for an event by its source.
	Routes []Route
	// Margin is the time before the platform's deadline that is kept for ending
	// an invocation in order. A fiftieth of the invocation's time is added to it;
	// together they are at most half of that time. The default is 250 ms.
	Margin time.Duration
	// Concurrency is how many messages of a batch run at once, at most. The
	// default is 4.
	Concurrency int
	// BatchResponses are the ARNs of the queues whose event source mapping has
	// ReportBatchItemFailures switched on. A batch of any other queue fails as a
	// whole when one message does: without the switch the platform takes every
	// response for a success, and deletes the messages that failed.
	BatchResponses []string
	// ThawAfter is the pause between two invocations after which the environment
	// is taken to have been frozen, and connections for dead. The default is 5 s.
	ThawAfter time.Duration
	// Thawed is called after such a pause, to drop idle connections. It may be
	// nil.
	Thawed func()
	// Flush sends what is buffered, such as spans, before each response and at the
	// end of the process, until its context ends. It may be nil.
	Flush func(context.Context)
	// Log is the host's log.
	Log *zap.Logger
	// RunLog returns the log of a run's script. log is Log with the id of the
	// request.
	RunLog func(log *zap.Logger, inv *runtime.Invocation) native.Logger
	// Exit ends the process. The default is os.Exit.
	Exit func(code int)
}

const (
	defaultMargin      = 250 * time.Millisecond
	defaultConcurrency = 4
	defaultThawAfter   = 5 * time.Second
)

// Host answers invocations, any number of them at once.
type Host struct {
	Config
	routes    routes
	partial   map[string]bool // the queues of Config.BatchResponses
	inFlight  inFlight
	abandoned atomic.Bool     // whether a run has not returned
	stopping  context.Context // cancelled with [runtime.Shutdown] by SIGTERM
	stop      context.CancelCauseFunc
}

// New returns a host, or an error that names the wrong field of c.
func New(c Config) (*Host, error) {
	switch {
	case c.Engine == nil || c.Clock == nil || c.Log == nil || c.RunLog == nil:
		return nil, fmt.Errorf("lambda: Engine, Clock, Log and RunLog are required")
	case c.Margin < 0:
		return nil, fmt.Errorf("margin: got %v, want more than 0", c.Margin)
	case c.Concurrency < 0:
		return nil, fmt.Errorf("concurrency: got %d, want 1 at least", c.Concurrency)
	case c.ThawAfter < 0:
		return nil, fmt.Errorf("thaw after: got %v, want more than 0", c.ThawAfter)
	}
	routes, err := newRoutes(c.Routes, c.Tenants)
	if err != nil {
		return nil, err
	}
	h := &Host{Config: c, routes: routes, partial: map[string]bool{}}
	setDefault(&h.Margin, defaultMargin)
	setDefault(&h.Concurrency, defaultConcurrency)
	setDefault(&h.ThawAfter, defaultThawAfter)
	if h.Thawed == nil {
		h.Thawed = func() {}
	}
	if h.Flush == nil {
		h.Flush = func(context.Context) {}
	}
	if h.Exit == nil {
		h.Exit = os.Exit
	}
	for _, arn := range c.BatchResponses {
		h.partial[arn] = true
	}
	h.stopping, h.stop = context.WithCancelCause(context.Background())
	return h, nil
}

func setDefault[T comparable](field *T, v T) {
	var zero T
	if *field == zero {
		*field = v
	}
}

// invocation is one call of the function.
type invocation struct {
	timeBudget
	ctx    context.Context // of all its runs
	log    *zap.Logger
	id     string // of the request
	tenant string // that the platform names; "" is none
	arn    string // of the function, with the alias that was called
}

// Invoke answers one invocation with JSON. Its error is a
// messages.InvokeResponse_Error, by value, with the type of the error and the Lua
// stack. ctx has the platform's deadline, without which an invocation may take
// any time, and the [lambdacontext.LambdaContext], which is optional.
func (h *Host) Invoke(ctx context.Context, payload []byte) (response []byte, err error) {
	i, end, failed := h.begin(ctx)
	if failed != nil {
		return nil, failure(failed, false)
	}
	defer end()
	defer func() {
		if p := recover(); p != nil {
			response, err = nil, failure(h.logPanic(i.log, p), false)
		}
	}()
	response, failed = h.dispatch(i, payload)
	h.flush(i.ctx, i.remaining(h.Clock.ElapsedMax()))
	if failed != nil {
		// Other invocations of the process must not end with it.
		return nil, failure(failed, h.abandoned.Load() && h.inFlight.single())
	}
	return response, nil
}

// begin begins an invocation. end is to be called when its response is ready.
func (h *Host) begin(ctx context.Context) (i *invocation, end func(), failed *runtime.Error) {
	now := h.Clock.Read()
	pause, ok := h.inFlight.add(now.Wall)
	if !ok {
		return nil, nil, runtime.Errorf(runtime.HostShutdown, "%s", runtime.Shutdown{}.Error())
	}
	if pause > h.ThawAfter {
		h.Log.Debug("idle connections are dropped after a pause", zap.Duration("pause", pause))
		h.Thawed()
	}
	i = &invocation{log: h.Log}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		i.id, i.tenant, i.arn = lc.AwsRequestID, lc.TenantID, lc.InvokedFunctionArn
		i.log = h.Log.With(zap.String("requestId", lc.AwsRequestID))
	}
	if deadline, ok := ctx.Deadline(); ok {
		i.timeBudget = newTimeBudget(now.ElapsedMax, deadline.Round(0).Sub(now.Wall), h.Margin)
	}
	// Runs keep the context's values but not its deadline: their own deadlines go
	// by both elapsed times.
	runs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	i.ctx = runs
	detach := context.AfterFunc(h.stopping, func() { cancel(context.Cause(h.stopping)) })
	return i, func() {
		detach()
		cancel(nil)
		h.inFlight.done(h.Clock.Now().Wall)
	}, nil
}

// dispatch runs the scripts for an event of any kind.
func (h *Host) dispatch(i *invocation, payload []byte) ([]byte, *runtime.Error) {
	event, failed := runtime.ParseEvent(payload)
	if failed != nil {
		h.logRefused(i, failed)
		return nil, failed
	}
	switch kindOf(event) {
	case httpKind:
		return h.serveHTTP(i, event.(value.Map))
	case batchKind:
		return h.batch(i, event.(value.Map))
	case eventBridgeKind:
		return h.runSingle(i, eventBridgeEvent(event.(value.Map)))
	}
	return h.runSingle(i, item{message: event})
}

// runSingle runs a script for an event that is no batch.
func (h *Host) runSingle(i *invocation, it item) ([]byte, *runtime.Error) {
	r := h.run(i, it)
	return r.JSON, r.Error
}

// logPanic logs a panic of the host. The error tells the caller nothing of it.
func (h *Host) logPanic(log *zap.Logger, p any) *runtime.Error {
	log.Error("the host panicked", zap.Any("panic", p), zap.ByteString("goStack", debug.Stack()))
	return runtime.Errorf(runtime.HostInternal, "internal error")
}

// logRefused logs an event for which no script was run.
func (h *Host) logRefused(i *invocation, e *runtime.Error) {
	i.log.Error("the event was refused", runlog.ErrorFields(e)...)
}

// flush flushes for at most flushMax, and at most the remaining time.
func (h *Host) flush(ctx context.Context, remaining time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(flushMax, remaining))
	defer cancel()
	h.Flush(ctx)
}

// flushMax bounds a flush.
const flushMax = 200 * time.Millisecond
