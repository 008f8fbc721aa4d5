package lambda

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
)

// TraceHeader is the key of an invocation's context under which X-Ray's header
// is, as a string: AWS's own libraries look for it there.
const TraceHeader = "x-amzn-trace-id"

// received is an invocation as the platform sent it.
type received struct {
	id      string // of the request
	header  http.Header
	payload []byte
}

// serve answers invocations, in as many loops as the platform may send invocations
// at once. It returns the error of the last loop; only an error ends a loop.
func (h *Host) serve(ctx context.Context, a *runtimeAPI, loops int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for range loops {
		all.Go(func() {
			for {
				if err := h.serveNext(ctx, a, loops == 1); err != nil {
					cancel(err) // the other loops end after their invocations
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// errAbandoned ends the process: a run that has not returned can't be stopped.
var errAbandoned = errors.New("a run has not come back, and the process ends with it")

// serveNext waits for an invocation and answers it. single is set if no other can
// be in flight.
func (h *Host) serveNext(ctx context.Context, a *runtimeAPI, single bool) error {
	r, err := a.next(ctx)
	if err != nil {
		return err
	}
	// What has been received is answered, whatever happens to the other loops.
	ctx = context.WithoutCancel(ctx)
	response, err := h.answer(ctx, r, single)
	failed, isError := errors.AsType[messages.InvokeResponse_Error](err)
	if !isError {
		return a.respond(ctx, r.id, response)
	}
	if err := a.fail(ctx, r.id, failed); err != nil {
		return err
	}
	if failed.ShouldExit {
		return errAbandoned
	}
	return nil
}

// answer answers an invocation. Its error is as of [Host.Invoke].
func (h *Host) answer(ctx context.Context, r received, single bool) ([]byte, error) {
	deadline, lc, failed := r.context()
	if failed != nil {
		h.logRefused(&invocation{log: h.Log.With(zap.String("requestId", r.id))}, failed)
		return nil, failure(failed, false)
	}
	trace := r.header.Get(headerTrace)
	if single {
		_ = os.Setenv("_X_AMZN_TRACE_ID", trace) // for libraries that don't know the context; a header holds nothing that a variable can't
	}
	ctx = context.WithValue(lambdacontext.NewContext(ctx, lc), TraceHeader, trace) //lint:ignore SA1029 AWS's libraries look for this key
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	return h.Invoke(ctx, r.payload)
}

// context reads the headers of an invocation. The client context is written by the
// caller; everything else by the platform, so that an error in it is the host's.
func (r received) context() (deadline time.Time, lc *lambdacontext.LambdaContext, failed *runtime.Error) {
	lc = &lambdacontext.LambdaContext{
		AwsRequestID: r.id, InvokedFunctionArn: r.header.Get(headerARN), TenantID: r.header.Get(headerTenant),
	}
	text := r.header.Get(headerDeadline)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return deadline, nil, runtime.Errorf(runtime.HostInternal, "the platform sent no deadline, but %.40q", text)
	}
	if !readHeader(r.header.Get(headerClientContext), &lc.ClientContext) {
		return deadline, nil, runtime.Errorf(runtime.EventInvalid, "the client context is not JSON of the form {client, custom, env}")
	}
	if !readHeader(r.header.Get(headerIdentity), &lc.Identity) {
		return deadline, nil, runtime.Errorf(runtime.HostInternal, "the platform sent an identity of Cognito that is not JSON of its form")
	}
	return time.UnixMilli(ms), lc, nil
}

// readHeader decodes a header that holds JSON, or none, and reports whether it
// could.
func readHeader(text string, to any) bool {
	return text == "" || stdjson.Unmarshal([]byte(text), to) == nil
}
