package lambda

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/tidelock-lua/tidelock/runtime"
)

// runtimeAPI is a client of the Runtime API and the Extensions API. Every request
// has one expected answer; any other is an error, redirects too.
type runtimeAPI struct {
	url    string
	client http.Client
}

// newRuntimeAPI returns the platform at an address, the value of
// AWS_LAMBDA_RUNTIME_API, for as many requests at once as there are loops.
func newRuntimeAPI(address string, loops int) *runtimeAPI {
	return &runtimeAPI{"http://" + address, http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: loops + 1, DisableCompression: true}, // never through a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Paths of the APIs, and headers.
const (
	pathInvocation = "/2018-06-01/runtime/invocation/"
	pathInitError  = "/2018-06-01/runtime/init/error"
	pathExtension  = "/2020-01-01/extension/"

	headerRequestID     = "Lambda-Runtime-Aws-Request-Id"
	headerDeadline      = "Lambda-Runtime-Deadline-Ms"
	headerTrace         = "Lambda-Runtime-Trace-Id"
	headerARN           = "Lambda-Runtime-Invoked-Function-Arn"
	headerTenant        = "Lambda-Runtime-Aws-Tenant-Id"
	headerClientContext = "Lambda-Runtime-Client-Context"
	headerIdentity      = "Lambda-Runtime-Cognito-Identity"
	headerErrorType     = "Lambda-Runtime-Function-Error-Type"
	headerXRayCause     = "Lambda-Runtime-Function-Xray-Error-Cause"
	headerExtensionName = "Lambda-Extension-Name"
	headerExtensionID   = "Lambda-Extension-Identifier"
)

// do sends a request and returns the answer with its whole body, or an error
// unless its status is the wanted one.
func (a *runtimeAPI) do(ctx context.Context, method, path string, body []byte, header http.Header, status int) (http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if header != nil {
		request.Header = header
	}
	request.Header.Set("User-Agent", "tidelock/"+goruntime.Version())
	response, err := a.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != status {
		return nil, nil, fmt.Errorf("%s %s: the platform answered %s", method, path, response.Status)
	}
	var text bytes.Buffer
	text.Grow(int(min(max(response.ContentLength, 0), runtime.EventBytesMax)))
	if _, err := text.ReadFrom(response.Body); err != nil {
		return nil, nil, fmt.Errorf("%s %s: the platform's answer: %w", method, path, err)
	}
	return response.Header, text.Bytes(), nil
}

// next waits for an invocation.
func (a *runtimeAPI) next(ctx context.Context) (received, error) {
	header, payload, err := a.do(ctx, http.MethodGet, pathInvocation+"next", nil, nil, http.StatusOK)
	if err != nil {
		return received{}, err
	}
	id := header.Get(headerRequestID)
	if id == "" || strings.ContainsAny(id, "/?#%") {
		return received{}, errors.New("the platform sent an invocation without a request id")
	}
	return received{id, header, payload}, nil
}

// respond sends the response to an invocation.
func (a *runtimeAPI) respond(ctx context.Context, id string, response []byte) error {
	_, _, err := a.do(ctx, http.MethodPost, pathInvocation+id+"/response", response, jsonHeader(), http.StatusAccepted)
	return err
}

// fail sends the error of an invocation, and its cause for X-Ray.
func (a *runtimeAPI) fail(ctx context.Context, id string, e messages.InvokeResponse_Error) error {
	header := jsonHeader()
	header.Set(headerXRayCause, string(encoded(xrayCause(e))))
	_, _, err := a.do(ctx, http.MethodPost, pathInvocation+id+"/error", encoded(e), header, http.StatusAccepted)
	return err
}

// failInit reports that the function can't start.
func (a *runtimeAPI) failInit(ctx context.Context, failed *runtime.Error) error {
	header := jsonHeader()
	header.Set(headerErrorType, string(failed.Type))
	body := encoded(struct {
		Message string   `json:"errorMessage"`
		Type    string   `json:"errorType"`
		Stack   []string `json:"stackTrace"`
	}{failed.Message, string(failed.Type), []string{}})
	_, _, err := a.do(ctx, http.MethodPost, pathInitError, body, header, http.StatusAccepted)
	return err
}

// register registers an extension for no events, and returns its identifier.
func (a *runtimeAPI) register(ctx context.Context, name string) (id string, err error) {
	header := jsonHeader()
	header.Set(headerExtensionName, name)
	got, _, err := a.do(ctx, http.MethodPost, pathExtension+"register", []byte(`{"events":[]}`), header, http.StatusOK)
	if err != nil {
		return "", err
	}
	if id = got.Get(headerExtensionID); id == "" {
		return "", errors.New("the platform registered an extension without an identifier")
	}
	return id, nil
}

// awaitEvent reports that an extension has started, and waits for an event. None
// is registered, so it returns only after an error.
func (a *runtimeAPI) awaitEvent(ctx context.Context, id string) error {
	header := http.Header{}
	header.Set(headerExtensionID, id)
	_, _, err := a.do(ctx, http.MethodGet, pathExtension+"event/next", nil, header, http.StatusOK)
	if err == nil {
		err = errors.New("an event that the extension has not registered")
	}
	return err
}

// initTime bounds the time for reporting a failed start, and for registering the
// extension.
const initTime = 2 * time.Second

// ReportInitError tells the platform why the process can't start. Without it the
// platform reports a crash. address is the value of AWS_LAMBDA_RUNTIME_API.
func ReportInitError(address string, failed *runtime.Error) error {
	ctx, cancel := context.WithTimeout(context.Background(), initTime)
	defer cancel()
	a := newRuntimeAPI(address, 0)
	defer a.client.CloseIdleConnections()
	return a.failInit(ctx, failed)
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// encoded returns strings and numbers as JSON, which can't fail.
func encoded(v any) []byte {
	text, err := stdjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// xrayCause is an error as X-Ray shows it.
func xrayCause(e messages.InvokeResponse_Error) any {
	type exception struct {
		Type    string                                      `json:"type"`
		Message string                                      `json:"message"`
		Stack   []*messages.InvokeResponse_Error_StackFrame `json:"stack"`
	}
	stack := e.StackTrace
	if stack == nil {
		stack = []*messages.InvokeResponse_Error_StackFrame{}
	}
	paths, seen := []string{}, map[string]bool{}
	for _, f := range stack {
		if !seen[f.Path] {
			seen[f.Path] = true
			paths = append(paths, f.Path)
		}
	}
	folder, _ := os.Getwd() // for people
	return struct {
		Folder     string      `json:"working_directory"`
		Exceptions []exception `json:"exceptions"`
		Paths      []string    `json:"paths"`
	}{folder, []exception{{e.Type, e.Message, stack}}, paths}
}
