package dynamo_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

var key = db.Key{Partition: "acme/users", Key: "key"}

func write(t *testing.T, s db.Store) outcome.Attempt {
	return s.Write(t.Context(), db.Write{Kind: db.Put, Key: key, Value: 1.0, Rev: "rev"}, 1).Attempt
}

func replace(t *testing.T, s db.Store) outcome.Attempt {
	return s.Write(t.Context(), db.Write{Kind: db.Put, Key: key, If: db.Condition{Rev: "old"}, Value: 1.0, Rev: "rev"}, 1).Attempt
}

func read(t *testing.T, s db.Store) outcome.Attempt { return s.Get(t.Context(), key, false).Attempt }

func transact(t *testing.T, s db.Store) outcome.Attempt {
	w := db.Write{Kind: db.Put, Key: key, Value: 1.0, Rev: "rev"}
	other := w
	other.Key.Key, other.If.Rev = "other", "old"
	return s.Transact(t.Context(), "token", []db.Write{w, other}, 1).Attempt
}

func TestOutcomeFollowsFromTheResponse(t *testing.T) {
	const never, later = false, true
	for _, test := range []struct {
		name      string
		answer    answer
		send      func(*testing.T, db.Store) outcome.Attempt
		outcome   outcome.Outcome
		code      string
		retryable bool
		message   string
	}{
		{"success", success, write, outcome.Applied, "", never, ""},
		{"refused", refusal("{}"), replace, outcome.Refused, "", never, ""},
		{"throttled", failure(400, "ThrottlingException"), write, outcome.NotApplied, db.CodeThrottled, later, "refuses more"},
		{"hot partition", failure(400, "ProvisionedThroughputExceededException"), write, outcome.NotApplied, db.CodeThrottled, later, ""},
		{"account limit", failure(400, "RequestLimitExceeded"), read, outcome.NotApplied, db.CodeThrottled, later, ""},
		{"throttled inside", failure(503, "ThrottlingException"), write, outcome.Unknown, db.CodeThrottled, later, ""},
		{"conflict", failure(400, "TransactionConflictException"), write, outcome.NotApplied, db.CodeContention, later, "transaction"},
		{"conflict between regions", failure(400, "ReplicatedWriteConflictException"), write, outcome.NotApplied, db.CodeContention, later, ""},
		{"failure inside", failure(500, "InternalServerError"), write, outcome.Unknown, db.CodeUnavailable, later, "did not answer"},
		{"failure inside of a read", failure(500, "InternalServerError"), read, outcome.NotApplied, db.CodeUnavailable, later, ""},
		{"out of service", failure(503, "ServiceUnavailable"), write, outcome.Unknown, db.CodeUnavailable, later, ""},
		{"answer lost", lost, write, outcome.Unknown, db.CodeUnavailable, later, "did not answer"},
		{"answer of a read lost", lost, read, outcome.NotApplied, db.CodeUnavailable, later, ""},
		{"no JSON", answer{status: 200, body: "<html>"}, write, outcome.Unknown, db.CodeUnavailable, later, ""},
		{"no such table", failure(400, "ResourceNotFoundException"), write, outcome.NotApplied, db.CodeUnavailable, never, `table "test" does not exist`},
		{"denied", failure(400, "AccessDeniedException"), write, outcome.NotApplied, db.CodeUnavailable, never, "denied"},
		{"unknown key id", failure(400, "UnrecognizedClientException"), read, outcome.NotApplied, db.CodeUnavailable, never, "denied"},
		{"expired credentials", failure(400, "ExpiredTokenException"), write, outcome.NotApplied, db.CodeUnavailable, later, "expired"},
		{"malformed", failure(400, "ValidationException"), write, outcome.NotApplied, db.CodeUnavailable, never, "ValidationException"},

		{"transaction refused", canceled("None", "ConditionalCheckFailed"), transact, outcome.Refused, "", never, ""},
		{"refused beside a conflict", canceled("TransactionConflict", "ConditionalCheckFailed"), transact, outcome.Refused, "", never, ""},
		{"transaction in conflict", canceled("None", "TransactionConflict"), transact, outcome.NotApplied, db.CodeContention, later, ""},
		{"conflict and load", canceled("TransactionConflict", "ThrottlingError"), transact, outcome.NotApplied, db.CodeThrottled, later, ""},
		{"transaction throttled", canceled("ProvisionedThroughputExceeded", "None"), transact, outcome.NotApplied, db.CodeThrottled, later, ""},
		{"transaction malformed", canceled("None", "ValidationError"), transact, outcome.NotApplied, db.CodeUnavailable, never, "ValidationError"},
		{"canceled for nothing", canceled("None", "None"), transact, outcome.NotApplied, db.CodeUnavailable, never, ""},
		{"transaction under way", failure(400, "TransactionInProgressException"), transact, outcome.NotApplied, db.CodeContention, later, ""},
		{"token misused", failure(400, "IdempotentParameterMismatchException"), transact, outcome.NotApplied, db.CodeUnavailable, never, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := newFake(t, test.answer)
			a := test.send(t, service.open(t))
			if a.Outcome != test.outcome || (a.Err == nil) != (test.code == "") {
				t.Fatalf("got outcome %d and error %v, want %d", a.Outcome, a.Err, test.outcome)
			}
			if n := len(service.seen()); n != 1 {
				t.Errorf("%d requests were sent, want 1", n)
			}
			var e *outcome.Error
			if test.code != "" && (!errors.As(a.Err, &e) || e.Code != test.code || e.Retryable != test.retryable || !strings.Contains(e.Message, test.message)) {
				t.Errorf("got %v (%+v), want %s, retryable %v, with %q", a.Err, e, test.code, test.retryable, test.message)
			}
		})
	}
}

func TestUnsentRequestIsNotApplied(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	for name, endpoint := range map[string]string{
		"refused connection": "http://" + closed,
		"no such host":       "http://does-not-exist.invalid",
		"no TLS there":       "https" + strings.TrimPrefix(newFake(t, success).URL, "http"),
	} {
		o := newFake(t, success).options()
		o.Endpoint = endpoint
		a := write(t, open(t, systemClock(), o))
		var e *outcome.Error
		if a.Outcome != outcome.NotApplied || !errors.As(a.Err, &e) || !e.Retryable || !strings.Contains(e.Message, "reached") {
			t.Errorf("%s: got outcome %d and %v, want not applied, can't be reached", name, a.Outcome, a.Err)
		}
	}
}

func TestCancelledRequestIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	service := newFake(t, answer{do: func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}})
	s := service.open(t)
	answer := s.PutLock(ctx, lock.Row{Key: lock.Key{Tenant: "acme", Name: "job"}, Owner: "me"}, 1)
	if answer.Outcome != outcome.Unknown || answer.Err == nil || len(service.seen()) != 1 {
		t.Errorf("got %+v after %d requests, want unknown after one", answer, len(service.seen()))
	}
	if answer = s.DeleteLock(ctx, lock.Key{Tenant: "acme", Name: "job"}, "me"); answer.Outcome != outcome.NotApplied || len(service.seen()) != 1 {
		t.Errorf("after the end: got %+v after %d requests, want not applied and none", answer, len(service.seen()))
	}
}

func TestEveryResponseOfTheServiceHasItsDate(t *testing.T) {
	for name, a := range map[string]answer{
		"success": success, "refused": refusal("{}"), "throttled": failure(400, "ThrottlingException"),
		"failure": failure(500, "InternalServerError"), "denied": failure(400, "AccessDeniedException"),
	} {
		service := newFake(t, a)
		service.date = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
		clk := systemClock()
		s := open(t, clk, service.options())
		before := clk.Read()
		got := write(t, s)
		after := clk.Read()
		if !got.Date.Equal(service.date) {
			t.Errorf("%s: got date %v, want %v", name, got.Date, service.date)
		}
		if got.Sent.ElapsedMax < before.ElapsedMax || got.Received.ElapsedMax < got.Sent.ElapsedMax || got.Received.ElapsedMax > after.ElapsedMax {
			t.Errorf("%s: sent %v and received %v are not in order within %v and %v", name, got.Sent, got.Received, before, after)
		}
	}
}

func TestResponseOfAProxyIsUnknownAndHasNoDate(t *testing.T) {
	service := newFake(t, answer{status: 407, body: "{}"})
	service.proxy = true
	if a := write(t, service.open(t)); !a.Date.IsZero() || a.Outcome != outcome.Unknown {
		t.Errorf("got date %v and outcome %d, want none and unknown", a.Date, a.Outcome)
	}
}

func TestSentIsTheTimeOfTheConnection(t *testing.T) {
	service := newFake(t, success)
	o := service.options()
	clk := systemClock()
	signer := &timedCredentials{CredentialsProvider: o.Credentials, clock: clk}
	o.Credentials = signer
	if a := write(t, open(t, clk, o)); signer.at == 0 || a.Sent.ElapsedMax < signer.at {
		t.Errorf("sent at %v, want it after the credentials came, at %v", a.Sent.ElapsedMax, signer.at)
	}
}

// timedCredentials note when they were retrieved.
type timedCredentials struct {
	aws.CredentialsProvider
	clock *clock.Dual
	at    time.Duration
}

func (c *timedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c.at = c.clock.ElapsedMax()
	return c.CredentialsProvider.Retrieve(ctx)
}

func TestRequestsHaveNoIdempotencyKey(t *testing.T) {
	service := newFake(t, success)
	s := service.open(t)
	write(t, s)
	transact(t, s)
	for _, r := range service.seen() {
		for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			if _, ok := r.header[http.CanonicalHeaderKey(name)]; ok {
				t.Errorf("%s has the header %s, want it not to", r.op, name)
			}
		}
	}
}

func TestOpenRefusesBadOptions(t *testing.T) {
	good := newFake(t, success).options()
	for want, spoil := range map[string]func(*dynamo.Options){
		"no table":  func(o *dynamo.Options) { o.Table = "" },
		"endpoint":  func(o *dynamo.Options) { o.Endpoint = "localhost:8000" },
		"db.region": func(o *dynamo.Options) { o.Region = "" },
	} {
		t.Setenv("AWS_REGION", "")
		t.Setenv("AWS_DEFAULT_REGION", "")
		t.Setenv("AWS_CONFIG_FILE", "/dev/null")
		o := good
		spoil(&o)
		if _, err := dynamo.Open(t.Context(), systemClock(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
