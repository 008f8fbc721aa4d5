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
)

// Config is what a host is made from. Engine, Hands, Tenants, Log and RunLog
// are required.
type Config struct {
	// Engine runs the scripts.
	Engine *runtime.Engine
	// Clock are the engine's.
	Clock *clock.Dual
	// Tenants are whose scripts may run.
	Tenants runtime.Directory
	// Routes say whose script an event is for, by where it comes from.
	Routes []Route
	// Margin is kept of the time that the platform gives to an invocation, for
	// ending it in order, and a fiftieth of that time besides; both together at
	// most half of it. Default 250 ms.
	Margin time.Duration
	// Concurrency is how many messages of a batch are worked on at once, at
	// most. Default 4.
	Concurrency int
	// BatchResponses are the ARNs of the queues whose event source mapping has
	// ReportBatchItemFailures switched on. For any other queue a batch fails as
	// a whole when one message does: without the switch the platform takes
	// every answer for a success, and deletes what has failed.
	BatchResponses []string
	// ThawAfter is the pause between two invocations after which connections
	// are taken for dead. Default 5 s.
	ThawAfter time.Duration
	// Thawed drops idle connections. Default: nothing.
	Thawed func()
	// Flush sends on what is buffered (traces, metrics), before each answer and
	// at the end. Its context ends in time. Default: nothing.
	Flush func(context.Context)
	// Log takes what the host reports.
	Log *zap.Logger
	// RunLog returns what takes the records of a run's script. log is Log with
	// the id of the request.
	RunLog func(log *zap.Logger, inv *runtime.Invocation) native.Logger
	// Exit ends the process. Default os.Exit.
	Exit func(code int)
}

const (
	defaultMargin      = 250 * time.Millisecond
	defaultConcurrency = 4
	defaultThawAfter   = 5 * time.Second
)

// Host answers invocations. Any number of them may be under way at once.
type Host struct {
	Config
	routes    routes
	partial   map[string]bool // the queues of Config.BatchResponses
	inFlight  inFlight
	abandoned atomic.Bool     // some run has not come back
	stopping  context.Context // cancelled with [runtime.Shutdown] when the process is to end
	stop      context.CancelCauseFunc
}

// New makes a host. The error says which field of the configuration is wrong.
func New(c Config) (*Host, error) {
	switch {
	case c.Engine == nil || c.Clock == nil || c.Log == nil || c.RunLog == nil:
		return nil, fmt.Errorf("lambda: Engine, Hands, Log and RunLog are required")
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
	tenant string // as the platform says; "" if it doesn't
	arn    string // of the function, with the alias that was called
}

// Invoke answers one invocation. Its error is a messages.InvokeResponse_Error,
// by value, with the type and the Lua stack of what went wrong. ctx has the
// platform's deadline and the [lambdacontext.LambdaContext].
func (h *Host) Invoke(ctx context.Context, payload []byte) (answer []byte, err error) {
	i, end, failed := h.begin(ctx)
	if failed != nil {
		return nil, failure(failed, false)
	}
	defer end()
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, failure(h.logPanic(i.log, p), false)
		}
	}()
	answer, failed = h.dispatch(i, payload)
	h.flush(i.ctx, i.remaining(h.Clock.ElapsedMax()))
	if failed != nil {
		// Other invocations of the process must not end with it.
		return nil, failure(failed, h.abandoned.Load() && h.inFlight.single())
	}
	return answer, nil
}

// begin takes an invocation in. end is called when its answer is ready.
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
	// Runs keep the context's values but not its deadline: they have ends of
	// their own, on both clocks.
	runs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	i.ctx = runs
	detach := context.AfterFunc(h.stopping, func() { cancel(context.Cause(h.stopping)) })
	return i, func() {
		detach()
		cancel(nil)
		h.inFlight.done(h.Clock.Now().Wall)
	}, nil
}

// dispatch finds out what kind of event came in, and has it run.
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

// runSingle runs a script for an event that came alone.
func (h *Host) runSingle(i *invocation, p item) ([]byte, *runtime.Error) {
	r := h.run(i, p)
	return r.JSON, r.Error
}

// logPanic reports a panic of ours; nobody outside is told of it.
func (h *Host) logPanic(log *zap.Logger, p any) *runtime.Error {
	log.Error("the host panicked", zap.Any("panic", p), zap.ByteString("goStack", debug.Stack()))
	return runtime.Errorf(runtime.HostInternal, "internal error")
}

// logRefused reports an event for which nothing was run.
func (h *Host) logRefused(i *invocation, e *runtime.Error) {
	i.log.Error("the event was refused", errorFields(e)...)
}

// flush gives the hook what is left of the time before the answer, up to a
// bound.
func (h *Host) flush(ctx context.Context, left time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(flushMax, left))
	defer cancel()
	h.Flush(ctx)
}

// flushMax bounds a flush.
const flushMax = 200 * time.Millisecond
