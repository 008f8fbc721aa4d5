package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// healthy is the answer of a table in which each row has the value 7 and the
// revision "old", and no lock is held.
func healthy(r request) answer {
	const row = `"v":{"N":"7"},"r":{"S":"old"},"t":{"S":"i"}`
	key := r.fields["Key"]
	values, _ := r.fields["ExpressionAttributeValues"].(map[string]any)
	body := "{}"
	switch r.op {
	case "GetItem":
		body = fmt.Sprintf(`{"Item":{"p":%s,"k":%s,%s}}`, of(key, "p"), of(key, "k"), row)
	case "UpdateItem":
		body = fmt.Sprintf(`{"Attributes":{"p":%s,"k":%s,"v":{"N":"8"},"r":%s,"t":{"S":"i"}}}`, of(key, "p"), of(key, "k"), of(values, ":new"))
	case "BatchGetItem":
		var items []string
		for _, key := range r.fields["RequestItems"].(map[string]any)["test"].(map[string]any)["Keys"].([]any) {
			items = append(items, fmt.Sprintf(`{"p":%s,"k":%s,%s}`, of(key, "p"), of(key, "k"), row))
		}
		body = fmt.Sprintf(`{"Responses":{"test":[%s]},"UnprocessedKeys":{}}`, strings.Join(items, ","))
	case "Query":
		body = fmt.Sprintf(`{"Items":[{"p":%s,"k":{"S":"key"},%s}],"Count":1,"ScannedCount":1}`, of(values, ":p"), row)
	case "DescribeTable":
		body = `{"Table":` + tableText + `}`
	case "CreateTable":
		body = `{"TableDescription":` + tableText + `}`
	case "DescribeTimeToLive":
		body = `{"TimeToLiveDescription":{"AttributeName":"x","TimeToLiveStatus":"ENABLED"}}`
	case "UpdateTimeToLive":
		body = `{"TimeToLiveSpecification":{"AttributeName":"x","Enabled":true}}`
	}
	return answer{status: 200, body: body}
}

const tableText = `{"TableName":"test","TableStatus":"ACTIVE",` +
	`"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"k","KeyType":"RANGE"}],` +
	`"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"p","AttributeType":"S"}]}`

// of is a field of a request as JSON.
func of(fields any, name string) string {
	text, _ := fields.(map[string]any)[name].(map[string]any)["S"].(string)
	return fmt.Sprintf(`{"S":%q}`, text)
}

// meaning is what an answer says about a request, however it is spoiled.
type meaning int

const (
	done    meaning = iota // it was carried out
	notDone                // it was not
	unknown                // nothing
)

// form is what becomes of an answer on its way.
type form struct {
	name  string
	spoil func(answer) answer
	// foreign reports whether the answer isn't recognisably the service's any more.
	foreign bool
	// slow reports whether it takes all of an attempt's time.
	slow bool
}

func headers(change func(http.Header)) func(answer) answer {
	return func(a answer) answer { a.header = change; return a }
}

func page(status int, kind, body string) func(answer) answer {
	return func(answer) answer {
		return answer{status: status, body: body, header: func(h http.Header) {
			h.Del("X-Amzn-Requestid")
			h.Del("X-Amz-Crc32")
			h.Set("Content-Type", kind)
		}}
	}
}

// begin sends the headers and n bytes of the body, of which there are more.
func begin(w http.ResponseWriter, a answer, n int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(a.body)+1))
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body[:min(n, len(a.body))])
	_ = http.NewResponseController(w).Flush()
}

var forms = []form{
	{name: "whole"},
	{name: "cut after 20 bytes", spoil: func(a answer) answer {
		whole := a
		a.do = func(w http.ResponseWriter, _ *http.Request) { begin(w, whole, 20); panic(http.ErrAbortHandler) }
		return a
	}},
	{name: "cut after its headers", spoil: func(a answer) answer {
		whole := a
		a.do = func(w http.ResponseWriter, _ *http.Request) { begin(w, whole, 0); panic(http.ErrAbortHandler) }
		return a
	}},
	{name: "cut where nothing shows it", spoil: func(a answer) answer {
		rest := a.body[:len(a.body)-1]
		a.do = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(a.status); _, _ = io.WriteString(w, rest) }
		return a
	}},
	{name: "empty", spoil: func(a answer) answer {
		a.do = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(a.status) }
		return a
	}},
	{name: "wrong checksum", spoil: headers(func(h http.Header) { h.Set("X-Amz-Crc32", "1") })},
	{name: "checksum is no number", spoil: headers(func(h http.Header) { h.Set("X-Amz-Crc32", "one") })},
	{name: "late body", slow: true, spoil: func(a answer) answer {
		whole := a
		a.do = func(w http.ResponseWriter, r *http.Request) { begin(w, whole, 1); <-r.Context().Done() }
		return a
	}},
	{name: "late", slow: true, foreign: true, spoil: func(a answer) answer {
		a.do = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		return a
	}},
	{name: "no answer", foreign: true, spoil: func(answer) answer { return lost }},
	{name: "without a request id", foreign: true, spoil: headers(func(h http.Header) { h.Del("X-Amzn-Requestid") })},
	{name: "of another type", foreign: true, spoil: headers(func(h http.Header) { h.Set("Content-Type", "application/json") })},
	{name: "of a cache", foreign: true, spoil: headers(func(h http.Header) { h.Set("Age", "3600") })},
	{name: "page of a proxy", foreign: true, spoil: func(a answer) answer { return page(a.status, "text/html", "<html>Welcome</html>")(a) }},
	{name: "JSON of another", foreign: true, spoil: func(a answer) answer { return page(a.status, "application/json", "{}")(a) }},
}

// ofSuccess are more forms of an answer with the status 200.
var ofSuccess = []form{
	{name: "without a checksum", foreign: true, spoil: headers(func(h http.Header) { h.Del("X-Amz-Crc32") })},
	{name: "status 204", foreign: true, spoil: func(answer) answer { return answer{status: 204} }},
	{name: "status 201", foreign: true, spoil: func(a answer) answer { a.status = 201; return a }},
	{name: "status 302", foreign: true, spoil: func(a answer) answer { a.status = 302; return a }},
	{name: "an error's text", spoil: func(a answer) answer { a.body = `{"message":"Forbidden"}`; return a }},
	{name: "null", spoil: func(a answer) answer { a.body = `null`; return a }},
	{name: "a list", spoil: func(a answer) answer { a.body = `[]`; return a }},
}

// operation is one whose requests op get the answer that is tested.
type operation struct {
	name, op string
	reads    bool // it has no side effect
	// run returns what it reports: done, or its error.
	run func(f *dbtest.Fixture) error
	// twice reports whether it may be sent again after an unknown outcome.
	twice bool
}

var errNotMade = errors.New("a result that says that the write was not made")

func made(ok bool, err error) error {
	if err == nil && !ok {
		return errNotMade
	}
	return err
}

var operations = []operation{
	{"get", "GetItem", true, func(f *dbtest.Fixture) error {
		row, err := f.Users.Get(f.Context(), f.Scope, "key", false)
		return made(row != nil, err)
	}, true},
	{"get_many", "BatchGetItem", true, func(f *dbtest.Fixture) error {
		rows, err := f.Users.GetMany(f.Context(), f.Scope, []string{"a", "b"}, false)
		return made(len(rows) == 2, err)
	}, true},
	{"list", "Query", true, func(f *dbtest.Fixture) error {
		page, err := f.Users.List(f.Context(), f.Scope, db.ListOptions{})
		return made(len(page.Items) == 1, err)
	}, true},
	{"each", "Query", true, func(f *dbtest.Fixture) error {
		all, err := f.Users.Iterate(db.ListOptions{Keys: true})
		if err != nil {
			return err
		}
		item, err := all.Next(f.Context(), f.Scope)
		return made(item != nil, err)
	}, true},
	{"put", "PutItem", false, func(f *dbtest.Fixture) error { return put(f, db.Condition{}) }, true},
	{"put new", "PutItem", false, func(f *dbtest.Fixture) error { return put(f, db.Condition{New: true}) }, true},
	{"put rev", "PutItem", false, func(f *dbtest.Fixture) error { return put(f, db.Condition{Rev: "old"}) }, true},
	{"delete", "DeleteItem", false, func(f *dbtest.Fixture) error {
		ok, _, err := f.Users.Delete(f.Context(), f.Scope, "key", db.Condition{})
		return made(ok, err)
	}, true},
	{"delete rev", "DeleteItem", false, func(f *dbtest.Fixture) error {
		ok, _, err := f.Users.Delete(f.Context(), f.Scope, "key", db.Condition{Rev: "old"})
		return made(ok, err)
	}, true},
	{"add", "UpdateItem", false, func(f *dbtest.Fixture) error {
		result, err := f.Users.Add(f.Context(), f.Scope, "key", 1, db.AddOptions{})
		return made(result.Applied, err)
	}, false},
	{"update, its read", "GetItem", true, update, true},
	{"update, its write", "PutItem", false, update, true},
	{"atomic", "TransactWriteItems", false, func(f *dbtest.Fixture) error {
		a, err := f.Users.ToPut("a", 1.0, db.PutOptions{})
		if err != nil {
			return err
		}
		b, err := f.Users.ToDelete("b", db.Condition{Rev: "old"})
		if err != nil {
			return err
		}
		revs, _, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{a, b})
		return made(revs != nil, err)
	}, true},
}

func put(f *dbtest.Fixture, condition db.Condition) error {
	rev, _, err := f.Users.Put(f.Context(), f.Scope, "key", 1.0, db.PutOptions{If: condition})
	return made(rev != "", err)
}

func update(f *dbtest.Fixture) error {
	row, err := f.Users.Update(f.Context(), f.Scope, "key", func(*db.Row) (any, error) { return 1.0, nil })
	return made(row != nil, err)
}

// statusClass is what the service says, before it is spoiled.
type statusClass struct {
	name    string
	meaning meaning
	answer  func(request) answer
	more    []form
}

var statusClasses = []statusClass{
	{"200", done, healthy, ofSuccess},
	{"400", notDone, func(request) answer { return failure(400, "TransactionConflictException") }, nil},
	{"500", unknown, func(request) answer { return failure(500, "InternalServerError") }, nil},
}

// rows calls test for each row of the matrix: an answer, spoiled, and what it means
// for a request. The time of each is fake.
func rows(t *testing.T, test func(t *testing.T, answerTo func(request) answer, m meaning, f form)) {
	for _, class := range statusClasses {
		for _, f := range append(forms[:len(forms):len(forms)], class.more...) {
			m := class.meaning
			if f.foreign || m == done && f.spoil != nil {
				m = unknown
			}
			answerTo := func(r request) answer {
				a := class.answer(r)
				if f.spoil != nil {
					a = f.spoil(a)
				}
				return a
			}
			t.Run(class.name+" "+f.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, answerTo, m, f) })
			})
		}
	}
}

// TestAnswerDecidesWhatIsReported gives each operation each answer: each time, and only
// once.
func TestAnswerDecidesWhatIsReported(t *testing.T) {
	for _, v := range operations {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			rows(t, func(t *testing.T, answerTo func(request) answer, m meaning, form form) {
				for _, once := range []bool{false, true} {
					var spoiled atomic.Int32
					f := newFakeInMemory(t, func(_ int, r request) answer {
						if r.op != v.op || spoiled.Add(1) > 1 && once {
							return healthy(r)
						}
						return answerTo(r)
					}).fixture(t)
					err := v.run(f)
					if once && (m != unknown || v.reads || v.twice) {
						m = done
					}
					if problem := misreported(v, m, err, f.Scope.InDoubt); problem != "" {
						t.Errorf("%s (once: %v): got %v with %d writes in doubt", problem, once, err, f.Scope.InDoubt)
					}
				}
			})
		})
	}
}

// misreported is what is wrong with the report err of an operation after answers that
// mean m.
func misreported(v operation, m meaning, err error, inDoubt int) string {
	var e *outcome.Error
	_ = errors.As(err, &e)
	switch {
	case errors.Is(err, errNotMade):
		return "a failure is reported as nothing there"
	case m == done && err != nil:
		return "want success"
	case m == done:
		return ""
	case e == nil:
		return "a failure is reported as success"
	case v.reads || m == notDone:
		want := outcome.AppliedNo
		if v.reads && !strings.HasPrefix(v.name, "update") {
			want = ""
		}
		if e.Code == db.CodeUnknown || !e.Retryable || e.Applied != want || inDoubt != 0 {
			return "want an error that is retryable, not applied"
		}
	case e.Code != db.CodeUnknown || e.Applied != outcome.AppliedUnknown || inDoubt == 0:
		return "want the outcome unknown"
	}
	return ""
}

// locksOver are locks on the service, which know its time.
func locksOver(t *testing.T, service *fake, events lock.Events) *lock.Locks {
	t.Helper()
	clk := systemClock()
	store := service.openWith(t, clk)
	now := lock.NewTableClock(0, nil)
	now.Observe(store.Get(t.Context(), key, false).Attempt)
	locks, err := lock.New(clk, store, now, lock.Options{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

func TestAnswerDecidesWhetherALockIsHeld(t *testing.T) {
	t.Parallel()
	rows(t, func(t *testing.T, answerTo func(request) answer, m meaning, form form) {
		for _, turn := range []bool{false, true} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var puts, deletes atomic.Int32
			service := newFakeInMemory(t, func(_ int, r request) answer {
				switch r.op {
				case "PutItem":
					puts.Add(1)
					return answerTo(r)
				case "DeleteItem":
					deletes.Add(1)
				}
				return healthy(r)
			})
			locks := locksOver(t, service, lock.Events{})
			request := lock.Request{Key: lock.Key{Tenant: "acme", Name: "job"}, Lease: 500 * time.Millisecond, Wait: 300 * time.Millisecond, Turn: turn}
			lease, err := locks.Acquire(ctx, request)
			if m == done {
				if err != nil {
					t.Errorf("turn %v: got %v, want a lease", turn, err)
				} else {
					lease.Release(t.Context())
				}
				continue
			}
			var e *outcome.Error
			if lease != nil || errors.Is(err, lock.ErrHeld) || !turn && (!errors.As(err, &e) || !e.Retryable) {
				t.Errorf("turn %v: got lease %v and %v, want an error of the table", turn, lease != nil, err)
			}
			if n := puts.Load(); n < 2 && !form.slow {
				t.Errorf("turn %v: the wait ended after %d puts", turn, n)
			}
			if n := deletes.Load(); (n > 0) != (m == unknown) {
				t.Errorf("turn %v: %d deletes after a lock that may be stored: %v", turn, n, m == unknown)
			}
		}
	})
}

func TestAnswerDecidesWhetherALockIsFreed(t *testing.T) {
	rows(t, func(t *testing.T, answerTo func(request) answer, m meaning, form form) {
		service := newFakeInMemory(t, func(_ int, r request) answer {
			if r.op == "DeleteItem" {
				return answerTo(r)
			}
			return healthy(r)
		})
		var results []lock.ReleaseResult
		locks := locksOver(t, service, lock.Events{Release: func(e lock.ReleaseEvent) { results = append(results, e.Result) }})
		lease, err := locks.Acquire(t.Context(), lock.Request{Key: lock.Key{Tenant: "acme", Name: "job"}, Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(t.Context())
		want := lock.Failed
		if m == done {
			want = lock.Freed
		}
		if len(results) != 1 || results[0] != want {
			t.Errorf("got %v, want %v", results, want)
		}
	})
}

func TestAnswerDecidesWhatListLocksReturns(t *testing.T) {
	rows(t, func(t *testing.T, answerTo func(request) answer, m meaning, form form) {
		service := newFakeInMemory(t, func(_ int, r request) answer { return answerTo(r) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		all, err := lock.ListAll(ctx, service.open(t), lock.NewTableClock(0, nil), "acme")
		if (err == nil) != (m == done) || err == nil && len(all) != 1 {
			t.Errorf("got %v, %v", all, err)
		}
	})
}

// TestAnswerDecidesWhatIsSaidOfATable gives each request of the commands about
// tables each answer.
func TestAnswerDecidesWhatIsSaidOfATable(t *testing.T) {
	for _, test := range []struct {
		name, op string
		run      func(context.Context, *fake, *testing.T) error
	}{
		{"check DescribeTable", "DescribeTable", checkTable},
		{"check DescribeTimeToLive", "DescribeTimeToLive", checkTable},
		{"create DescribeTable", "DescribeTable", createTable},
		{"create CreateTable", "CreateTable", createTable},
		{"create DescribeTimeToLive", "DescribeTimeToLive", createTable},
		{"create UpdateTimeToLive", "UpdateTimeToLive", createTable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rows(t, func(t *testing.T, answerTo func(request) answer, m meaning, form form) {
				var created atomic.Bool
				service := newFakeInMemory(t, func(_ int, r request) answer {
					created.CompareAndSwap(false, r.op == "CreateTable")
					switch {
					case r.op == test.op:
						return answerTo(r)
					case r.op == "DescribeTable" && test.op == "CreateTable" && !created.Load():
						return failure(400, "ResourceNotFoundException")
					case r.op == "DescribeTimeToLive" && test.op == "UpdateTimeToLive":
						return answer{status: 200, body: `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`}
					}
					return healthy(r)
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := test.run(ctx, service, t); (err == nil) != (m == done) {
					t.Errorf("got %v, want success: %v", err, m == done)
				}
			})
		})
	}
}

func checkTable(ctx context.Context, service *fake, t *testing.T) error {
	_, err := service.open(t).CheckTable(ctx, 0)
	return err
}

func createTable(ctx context.Context, service *fake, t *testing.T) error {
	_, err := service.open(t).CreateTable(ctx)
	return err
}
