package dynamo_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tidelock-lua/tidelock/native/db/dynamo"
)

// A request is one that the fake service has received.
type request struct {
	op     string // such as "PutItem"
	header http.Header
	body   string
	fields map[string]any
}

// item is the item of a PutItem as JSON, to be returned.
func (r request) item() string {
	text, err := json.Marshal(r.fields["Item"])
	if err != nil {
		panic(err) // it has come as JSON
	}
	return string(text)
}

// An answer is the response of the fake service to one request: a status and a
// text, with the headers of the service, or whatever do does with the connection.
type answer struct {
	status int
	body   string
	header func(http.Header) // changes the headers; may be nil
	do     func(http.ResponseWriter, *http.Request)
}

var (
	success = answer{status: 200, body: "{}"}
	// lost breaks the connection without a response.
	lost = answer{do: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
)

// failure is an error of the service.
func failure(status int, code string, fields ...string) answer {
	text := `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"told by the test"`
	return answer{status: status, body: strings.Join(append([]string{text}, fields...), ",") + "}"}
}

func refusal(item string) answer {
	return failure(400, "ConditionalCheckFailedException", `"Item":`+item)
}

// canceled is a transaction that was stopped, with a reason for each entry.
func canceled(reasons ...string) answer {
	var all []string
	for _, reason := range reasons {
		all = append(all, `{"Code":"`+reason+`"}`)
	}
	return failure(400, "TransactionCanceledException", `"CancellationReasons":[`+strings.Join(all, ",")+`]`)
}

// fake is a service with given answers: one after the other, or what answerTo
// returns. It speaks as much of the protocol as that needs.
type fake struct {
	*httptest.Server
	answerTo func(n int, r request) answer
	date     time.Time // of its answers; zero is the present
	proxy    bool      // answers as a proxy, not as the service
	pipes    *pipes    // in place of the network; nil if that is used

	mu       sync.Mutex // guards requests
	requests []request
}

func newFake(t testing.TB, answers ...answer) *fake {
	f := &fake{answerTo: func(n int, _ request) answer { return answers[min(n, len(answers))-1] }}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	got := request{header: r.Header, body: string(body)}
	_, got.op, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if err := json.Unmarshal(body, &got.fields); err != nil {
		panic(err)
	}
	f.mu.Lock()
	f.requests = append(f.requests, got)
	n := len(f.requests)
	f.mu.Unlock()

	a := f.answerTo(n, got)
	if !f.proxy {
		w.Header().Set("X-Amzn-Requestid", fmt.Sprintf("ID%d", n))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(a.body))))
	}
	if !f.date.IsZero() {
		w.Header().Set("Date", f.date.UTC().Format(http.TimeFormat))
	}
	if a.header != nil {
		a.header(w.Header())
	}
	if a.do != nil {
		a.do(w, r)
		return
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// seen are the requests so far.
func (f *fake) seen() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.requests...)
}

func (f *fake) options() dynamo.Options {
	return dynamo.Options{
		Table: "test", Region: "eu-west-1", Endpoint: f.URL,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}
