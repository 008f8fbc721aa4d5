package dynamo_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

func TestPutRecognisesItsOwnItem(t *testing.T) {
	service := newFake(t)
	service.answerTo = func(n int, r request) answer {
		if n == 1 {
			return lost
		}
		return refusal(service.seen()[0].item())
	}
	f := service.fixture(t)
	rev, current, err := f.Users.Put(f.Context(), f.Scope, "key", 1.0, db.PutOptions{If: db.Condition{New: true}})
	if rev == "" || current != nil || err != nil || f.Scope.InDoubt != 0 {
		t.Errorf("put = %q, %v, %v with %d writes open; want a revision and none", rev, current, err, f.Scope.InDoubt)
	}
	if !strings.Contains(service.seen()[0].item(), rev) || len(service.seen()) != 2 {
		t.Errorf("%d requests, the first with %s; want 2 with revision %s", len(service.seen()), service.seen()[0].item(), rev)
	}
}

func TestAddIsNeverSentTwice(t *testing.T) {
	service := newFake(t)
	service.answerTo = func(n int, r request) answer {
		if r.op == "UpdateItem" {
			return lost
		}
		return answer{status: 200, body: `{"Item":{"p":{"S":"acme/users"},"k":{"S":"key"},"v":{"N":"7"},"r":{"S":"another's"},"t":{"S":"i"}}}`}
	}
	f := service.fixture(t)
	_, err := f.Users.Add(f.Context(), f.Scope, "key", 1, db.AddOptions{})
	if e := f.WantCode(err, db.CodeUnknown); e.Applied != outcome.AppliedUnknown || f.Scope.InDoubt != 1 {
		t.Errorf("applied is %q with %d writes open, want unknown and one", e.Applied, f.Scope.InDoubt)
	}
	if ops := service.ops(); !reflect.DeepEqual(ops, []string{"UpdateItem", "GetItem"}) {
		t.Errorf("requests are %v, want one addition and one read", ops)
	}
}

func TestTransactSendsTheSameBytesInEachAttempt(t *testing.T) {
	service := newFake(t, lost, failure(400, "TransactionInProgressException"), canceled("TransactionConflict", "None"), success)
	f := service.fixture(t)
	v := value.Map{}
	for i := range 30 {
		v[fmt.Sprint("<field ", i)] = float64(i)
	}
	put, err := f.Users.ToPut("put", v, db.PutOptions{If: db.Condition{New: true}})
	if err != nil {
		t.Fatal(err)
	}
	add, err := f.Users.ToAdd("add", 1, db.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{put, add}); err != nil || failed != nil {
		t.Fatalf("atomic = %v, %v; want success", failed, err)
	}
	seen := service.seen()
	if len(seen) != 4 || seen[0].fields["ClientRequestToken"] == "" {
		t.Fatalf("%d requests, want 4 with a token", len(seen))
	}
	for i, r := range seen {
		if r.body != seen[0].body {
			t.Errorf("request %d is\n%s\nwant\n%s", i+1, r.body, seen[0].body)
		}
	}
}

func TestGetManyReadsUnprocessedKeysAgain(t *testing.T) {
	const row = `{"p":{"S":"acme/users"},"k":{"S":"%s"},"v":{"S":"%[1]s"},"r":{"S":"rev"}}`
	const left = `{"p":{"S":"acme/users"},"k":{"S":"%s"}}`
	batch := func(read string, unread ...string) answer {
		var keys []string
		for _, key := range unread {
			keys = append(keys, fmt.Sprintf(left, key))
		}
		return answer{status: 200, body: fmt.Sprintf(`{"Responses":{"test":[`+row+`]},"UnprocessedKeys":{"test":{"Keys":[%s]}}}`, read, strings.Join(keys, ","))}
	}
	service := newFake(t, batch("a", "b", "missing"), failure(400, "ThrottlingException"), batch("b", "missing"), answer{status: 200, body: `{"Responses":{"test":[]},"UnprocessedKeys":{}}`})
	f := service.fixture(t)
	got, err := f.Users.GetMany(f.Context(), f.Scope, []string{"a", "b", "missing"}, false)
	if err != nil || len(got) != 2 || got["a"].Value != "a" || got["b"].Value != "b" {
		t.Errorf("got %v, %v; want a and b", got, err)
	}
	if n := len(service.seen()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

func TestGetManyThatReadsNothingIsThrottled(t *testing.T) {
	service := newFake(t, answer{status: 200, body: `{"Responses":{},"UnprocessedKeys":{"test":{"Keys":[{"p":{"S":"acme/users"},"k":{"S":"a"}}]}}}`})
	f := service.fixture(t)
	_, err := f.Users.GetMany(f.Context(), f.Scope, []string{"a"}, false)
	f.WantCode(err, db.CodeThrottled)
}

func TestExpiredCredentialsAreRenewedForTheNextAttempt(t *testing.T) {
	service := newFake(t)
	service.answerTo = func(_ int, r request) answer {
		if strings.Contains(r.header.Get("Authorization"), "Credential=key1/") {
			return failure(400, "ExpiredTokenException")
		}
		return success
	}
	o := service.options()
	fresh := &numberedCredentials{}
	o.Credentials = fresh
	f := dbtest.NewFixture(t, open(t, systemClock(), o), dbtest.NewClock())
	f.Put("key", 1.0)
	f.Put("key", 2.0)
	if n, calls := len(service.seen()), fresh.calls.Load(); n != 3 || calls != 2 {
		t.Errorf("%d requests with %d credentials, want 3 with 2", n, calls)
	}
}

// numberedCredentials are others each time.
type numberedCredentials struct{ calls atomic.Int32 }

func (c *numberedCredentials) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: fmt.Sprint("key", c.calls.Add(1)), SecretAccessKey: "test"}, nil
}

func TestForeignItemIsAnError(t *testing.T) {
	for _, item := range []string{`{"p":{"S":"acme/users"},"k":{"S":"key"}}`, `{"p":{"S":"acme/users"},"k":{"S":"key"},"v":{"SS":["a"]},"r":{"S":"rev"}}`} {
		service := newFake(t, answer{status: 200, body: `{"Item":` + item + `}`}, refusal(item))
		f := service.fixture(t)
		_, err := f.Users.Get(f.Context(), f.Scope, "key", false)
		f.WantCode(err, db.CodeUnavailable)
		_, _, err = f.Users.Put(f.Context(), f.Scope, "key", 1.0, db.PutOptions{If: db.Condition{New: true}})
		if e := f.WantCode(err, db.CodeUnavailable); e.Retryable || e.Applied != outcome.AppliedNo || !strings.Contains(e.Message, "another program") {
			t.Errorf("got %+v, want it not applied because of another program", e)
		}
	}
}

func TestThrottlingReasonsAreLoggedAndHidden(t *testing.T) {
	const reason = "TableWriteKeyRangeThroughputExceeded"
	service := newFake(t, failure(400, "ProvisionedThroughputExceededException", `"ThrottlingReasons":[{"reason":"`+reason+`","resource":"arn:secret"}]`))
	core, logs := observer.New(zapcore.WarnLevel)
	o := service.options()
	o.Log = zap.New(core)
	s := open(t, systemClock(), o)
	a := write(t, s)
	if strings.Contains(a.Err.Error(), reason) {
		t.Errorf("the script is told %v", a.Err)
	}
	for range 20 {
		write(t, s)
	}
	throttled := logs.FilterMessage("the table is throttled").All()
	if n := len(throttled); n == 0 || n > 12 || logs.Len() != n {
		t.Fatalf("%d records of %d for 21 throttled requests, want a few and no others", n, logs.Len())
	}
	if got := fmt.Sprint(throttled[0].ContextMap()["reasons"]); got != "["+reason+"]" {
		t.Errorf("the log has reasons %s, want %s", got, reason)
	}
}

// ops are the requests so far.
func (f *fake) ops() (ops []string) {
	for _, r := range f.seen() {
		ops = append(ops, r.op)
	}
	return ops
}

func TestSignatureOutOfDateIsRenewed(t *testing.T) {
	service := newFake(t, failure(400, "InvalidSignatureException"), success)
	service.date = time.Now().Add(time.Hour)
	f := service.fixture(t)
	f.Put("key", 1.0)
	signed, err := time.Parse("20060102T150405Z", service.seen()[1].header.Get("X-Amz-Date"))
	if off := signed.Sub(service.date).Abs(); err != nil || off > time.Minute {
		t.Errorf("the second request is signed for %v (%v), want the service's time %v", signed, err, service.date)
	}
}

// TestSignatureThatExpiredOnItsWayIsRenewed has a service whose time is the
// machine's: the first request came too late all the same.
func TestSignatureThatExpiredOnItsWayIsRenewed(t *testing.T) {
	expired := answer{status: 400, body: `{"__type":"com.amazon.coral.service#InvalidSignatureException",` +
		`"message":"Signature expired: 20260101T000000Z is now earlier than 20260101T000500Z (20260101T001000Z - 5 min.)"}`}
	service := newFake(t, expired, success)
	f := service.fixture(t)
	f.Put("key", 1.0)
	if n := len(service.seen()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}
