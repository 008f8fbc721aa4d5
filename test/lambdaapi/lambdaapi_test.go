package lambdaapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// send sends a request and returns its status and body.
func (a *API) send(t *testing.T, method, path, body string, header map[string]string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+a.Address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(got)
}

const (
	runtimePath   = "/2018-06-01/runtime"
	extensionPath = "/2020-01-01/extension"
)

// The fake refuses what the platform refuses, or a program passes its tests and
// fails there.
func TestAPIRefusesWhatThePlatformRefuses(t *testing.T) {
	a := Start(t)
	name := map[string]string{"Lambda-Extension-Name": "x"}
	want := func(what string, status int, kind string) func(int, string) {
		return func(got int, text string) {
			t.Helper()
			if got != status || !strings.Contains(text, kind) || kind != "" && !strings.Contains(text, `"errorMessage"`) {
				t.Errorf("%s: got %d %s, want %d %s", what, got, text, status, kind)
			}
		}
	}
	want("no name", 403, "InvalidExtensionName")(a.send(t, "POST", extensionPath+"/register", `{"events":[]}`, nil))
	want("no JSON", 403, "InvalidRequestFormat")(a.send(t, "POST", extensionPath+"/register", ``, name))
	want("SHUTDOWN", 403, "InvalidEventType")(a.send(t, "POST", extensionPath+"/register", `{"events":["SHUTDOWN"]}`, name))
	want("an extension", 200, "")(a.send(t, "POST", extensionPath+"/register", `{"events":["INVOKE"]}`, name))
	want("a name twice", 403, "InvalidExtensionState")(a.send(t, "POST", extensionPath+"/register", `{"events":[]}`, name))
	want("no identifier", 403, "InvalidExtensionIdentifier")(a.send(t, "GET", extensionPath+"/event/next", "", nil))

	p := a.Send(Invocation{Payload: "1", Timeout: time.Minute})
	want("an invocation", 200, "")(a.send(t, "GET", runtimePath+"/invocation/next", "", nil))
	want("another at once", 403, "InvalidStateTransition")(a.send(t, "GET", runtimePath+"/invocation/next", "", nil))
	want("late registration", 403, "RegistrationClosed")(a.send(t, "POST", extensionPath+"/register", `{"events":[]}`, map[string]string{"Lambda-Extension-Name": "y"}))
	want("a late error of the start", 403, "InvalidStateTransition")(a.send(t, "POST", runtimePath+"/init/error", `{}`, nil))
	want("an unknown invocation", 400, "InvalidRequestID")(a.send(t, "POST", runtimePath+"/invocation/x/response", `1`, nil))
	want("a response", 202, "")(a.send(t, "POST", runtimePath+"/invocation/"+p.ID+"/response", `1`, nil))
	want("a second response", 403, "InvalidStateTransition")(a.send(t, "POST", runtimePath+"/invocation/"+p.ID+"/error", `{}`, nil))

	for _, test := range []struct {
		what, kind, body string
		status           int
		header           map[string]string
		timeout          time.Duration
	}{
		{"too large", "RequestEntityTooLarge", strings.Repeat("x", ResponseBytesMax+1), 413, nil, time.Minute},
		{"an unknown mode", "InvalidFunctionResponseMode", "1", 400, map[string]string{"Lambda-Runtime-Function-Response-Mode": "buffered"}, time.Minute},
		{"late", "InvalidStateTransition", "1", 403, nil, time.Nanosecond},
	} {
		p := a.Send(Invocation{Payload: "1", Timeout: test.timeout})
		want("an invocation", 200, "")(a.send(t, "GET", runtimePath+"/invocation/next", "", nil))
		want(test.what, test.status, test.kind)(a.send(t, "POST", runtimePath+"/invocation/"+p.ID+"/response", test.body, test.header))
		if got := <-p.Responded; got.OK() {
			t.Errorf("%s: got %v", test.what, got.Status)
		}
	}

	p = a.Send(Invocation{Payload: "1", Timeout: time.Minute})
	want("an invocation", 200, "")(a.send(t, "GET", runtimePath+"/invocation/next", "", nil))
	conn, err := net.Dial("tcp", a.Address)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %s/invocation/%s/response HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n1", runtimePath, p.ID)
	conn.Close()
	if got := <-p.Responded; got.OK() || got.Status != 400 {
		t.Errorf("a response that breaks off: got %+v", got)
	}
}
