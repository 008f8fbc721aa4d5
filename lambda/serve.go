package lambda

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"strings"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
)

// Serve compiles all scripts and then answers the invocations of the platform,
// as many at once as AWS_LAMBDA_MAX_CONCURRENCY allows. It doesn't return: the
// process exits with 0 on SIGTERM, and with 1 if the platform doesn't respond. The
// standard logger writes to Config.Log from then on.
func (h *Host) Serve() {
	h.compile()
	stdlog.SetFlags(0)
	stdlog.SetPrefix("")
	stdlog.SetOutput(standardLog{h.Log})
	awslambda.StartWithOptions(h, awslambda.WithEnableSIGTERM(h.terminate))
}

// Bounds of what happens after SIGTERM. The platform kills after 500 ms.
const (
	stopTime     = 350 * time.Millisecond // for runs to release their locks
	responseTime = 50 * time.Millisecond  // for responses, which aws-lambda-go sends after Invoke has returned them
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

// standardLog logs what libraries print. aws-lambda-go prints each error that
// Invoke returns; those have a record already.
type standardLog struct{ log *zap.Logger }

func (w standardLog) Write(text []byte) (int, error) {
	var e struct{ ErrorType string }
	if bytes.HasPrefix(text, []byte(`{"errorMessage":`)) && stdjson.Unmarshal(text, &e) == nil && strings.Contains(e.ErrorType, ".") {
		return len(text), nil
	}
	// net/http prints what a server sends unasked: a tenant's data.
	message, _, _ := strings.Cut(strings.TrimSpace(string(text)), " starting with ")
	w.log.Warn(message)
	return len(text), nil
}

// initTime bounds the time for reporting a failed start.
const initTime = 2 * time.Second

// ReportInitError tells the platform why the process can't start. aws-lambda-go
// has no such call, and without it the platform reports a crash. api is the value
// of AWS_LAMBDA_RUNTIME_API.
func ReportInitError(api string, failed *runtime.Error) error {
	ctx, cancel := context.WithTimeout(context.Background(), initTime)
	defer cancel()
	body, err := stdjson.Marshal(struct {
		Message string   `json:"errorMessage"`
		Type    string   `json:"errorType"`
		Stack   []string `json:"stackTrace"`
	}{failed.Message, string(failed.Type), []string{}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+api+"/2018-06-01/runtime/init/error", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Lambda-Runtime-Function-Error-Type", string(failed.Type))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // never through a proxy
	response, err := client.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the platform answered %s", response.Status)
	}
	return nil
}
