package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// TestAnswerMustFitItsRequest has answers with all headers of the service, and a
// body that is none to the request: of another request, or of a later version.
func TestAnswerMustFitItsRequest(t *testing.T) {
	const (
		item  = `{"p":{"S":"acme/users"},"k":{"S":"key"},"v":{"N":"7"},"r":{"S":"old"},"t":{"S":"i"}}`
		other = `{"p":{"S":"other/users"},"k":{"S":"key"},"v":{"N":"7"},"r":{"S":"old"},"t":{"S":"i"}}`
		held  = `{"p":{"S":"acme/!locks"},"k":{"S":"job"},"owner":{"S":"me"},"until":{"N":"5"}}`
	)
	get := func(ctx context.Context, s *dynamo.Store) outcome.Attempt { return s.Get(ctx, key, false).Attempt }
	many := func(ctx context.Context, s *dynamo.Store) outcome.Attempt {
		return s.GetMany(ctx, []db.Key{key, {Partition: key.Partition, Key: "b"}}, false).Attempt
	}
	query := func(ctx context.Context, s *dynamo.Store) outcome.Attempt {
		return s.Query(ctx, db.Query{Partition: key.Partition, Low: "a", High: "z", Limit: 10}).Attempt
	}
	reverse := func(ctx context.Context, s *dynamo.Store) outcome.Attempt {
		return s.Query(ctx, db.Query{Partition: key.Partition, Low: "a", High: "z", Limit: 10, Reverse: true}).Attempt
	}
	list := func(ctx context.Context, s *dynamo.Store) outcome.Attempt {
		return s.ListLocks(ctx, "acme", "").Attempt
	}
	write := func(w db.Write) func(context.Context, *dynamo.Store) outcome.Attempt {
		w.Key, w.Rev = key, "new"
		return func(ctx context.Context, s *dynamo.Store) outcome.Attempt { return s.Write(ctx, w, 1).Attempt }
	}
	put := write(db.Write{Kind: db.Put, Value: 1.0})
	putNew := write(db.Write{Kind: db.Put, Value: 1.0, If: db.Condition{New: true}})
	putRev := write(db.Write{Kind: db.Put, Value: 1.0, If: db.Condition{Rev: "old"}})
	remove := write(db.Write{Kind: db.Delete})
	add := write(db.Write{Kind: db.Add, Delta: 1, High: 10})
	both := func(ctx context.Context, s *dynamo.Store) outcome.Attempt {
		w := db.Write{Kind: db.Put, Key: key, Value: 1.0, Rev: "new", If: db.Condition{New: true}}
		return s.Transact(ctx, "token", []db.Write{w}, 1).Attempt
	}
	putLock := func(ctx context.Context, s *dynamo.Store) outcome.Attempt {
		return s.PutLock(ctx, lock.Row{Key: lock.Key{Tenant: "acme", Name: "job"}, Owner: "me"}, 9).Attempt
	}
	deleteLock := func(ctx context.Context, s *dynamo.Store) outcome.Attempt {
		return s.DeleteLock(ctx, lock.Key{Tenant: "acme", Name: "job"}, "me").Attempt
	}
	ok := func(body string) answer { return answer{status: 200, body: body} }
	for _, test := range []struct {
		name    string
		send    func(context.Context, *dynamo.Store) outcome.Attempt
		answer  answer
		outcome outcome.Outcome
	}{
		{"absent", get, ok(`{}`), outcome.Applied},
		{"absent, in a later version", get, ok(`{"RequestCharged":1}`), outcome.Applied},
		{"an error's text", get, ok(`{"message":"Forbidden"}`), outcome.NotApplied},
		{"an error's type", get, ok(`{"__type":"InternalFailure"}`), outcome.NotApplied},
		{"other JSON", get, ok(`{"ok":true}`), outcome.NotApplied},
		{"an item that is null", get, ok(`{"Item":null}`), outcome.NotApplied},
		{"an empty item", get, ok(`{"Item":{}}`), outcome.NotApplied},
		{"an item that is a list", get, ok(`{"Item":[]}`), outcome.NotApplied},
		{"the item of another tenant", get, ok(`{"Item":` + other + `}`), outcome.NotApplied},
		{"the answer to a batch", get, ok(`{"Responses":{"test":[]},"UnprocessedKeys":{}}`), outcome.NotApplied},

		{"no items", many, ok(`{"Responses":{"test":[]},"UnprocessedKeys":{}}`), outcome.Applied},
		{"nothing", many, ok(`{}`), outcome.NotApplied},
		{"no items of the table", many, ok(`{"Responses":{},"UnprocessedKeys":{}}`), outcome.NotApplied},
		{"items of another table", many, ok(`{"Responses":{"other":[]},"UnprocessedKeys":{}}`), outcome.NotApplied},
		{"no unprocessed keys", many, ok(`{"Responses":{"test":[]}}`), outcome.NotApplied},
		{"no responses", many, ok(`{"UnprocessedKeys":{}}`), outcome.NotApplied},
		{"an item that was not asked for", many, ok(`{"Responses":{"test":[` + other + `]},"UnprocessedKeys":{}}`), outcome.NotApplied},
		{"an item twice", many, ok(`{"Responses":{"test":[` + item + `,` + item + `]},"UnprocessedKeys":{}}`), outcome.NotApplied},

		{"an empty page", query, ok(`{"Items":[],"Count":0,"ScannedCount":3}`), outcome.Applied},
		{"no page", query, ok(`{}`), outcome.NotApplied},
		{"no count", query, ok(`{"Items":[]}`), outcome.NotApplied},
		{"no items of a page", query, ok(`{"Count":0,"ScannedCount":0}`), outcome.NotApplied},
		{"another count", query, ok(`{"Items":[],"Count":1,"ScannedCount":1}`), outcome.NotApplied},
		{"more than was read", query, ok(`{"Items":[` + item + `],"Count":1,"ScannedCount":0}`), outcome.NotApplied},
		{"more than the limit", query, ok(`{"Items":[],"Count":0,"ScannedCount":11}`), outcome.NotApplied},
		{"the page of another tenant", query, ok(`{"Items":[` + other + `],"Count":1,"ScannedCount":1}`), outcome.NotApplied},
		{"an item out of range", query, ok(`{"Items":[` + strings.Replace(item, `"key"`, `"zz"`, 1) + `],"Count":1,"ScannedCount":1}`), outcome.NotApplied},
		{"out of order", query, ok(`{"Items":[` + item + `,` + strings.Replace(item, `"key"`, `"a"`, 1) + `],"Count":2,"ScannedCount":2}`), outcome.NotApplied},
		{"in reverse order", reverse, ok(`{"Items":[` + item + `,` + strings.Replace(item, `"key"`, `"a"`, 1) + `],"Count":2,"ScannedCount":2}`), outcome.Applied},
		{"continued by another", query, ok(`{"Items":[],"Count":0,"ScannedCount":0,"LastEvaluatedKey":` + other + `}`), outcome.NotApplied},
		{"no locks", list, ok(`{"Items":[],"Count":0,"ScannedCount":0}`), outcome.Applied},
		{"no list of locks", list, ok(`{}`), outcome.NotApplied},
		{"documents for locks", list, ok(`{"Items":[` + item + `],"Count":1,"ScannedCount":1}`), outcome.NotApplied},

		{"an error's text for a put", put, ok(`{"message":"Forbidden"}`), outcome.Unknown},
		{"the answer to a read", put, ok(`{"Item":` + item + `}`), outcome.Unknown},
		{"other JSON for a delete", remove, ok(`{"ok":true}`), outcome.Unknown},
		{"an error's text for a transaction", both, ok(`{"__type":"x"}`), outcome.Unknown},
		{"an error's text for a lock", putLock, ok(`{"message":"x"}`), outcome.Unknown},
		{"an error's text for a release", deleteLock, ok(`{"message":"x"}`), outcome.Unknown},
		{"no sum", add, ok(`{}`), outcome.Unknown},
		{"the sum of another", add, ok(`{"Attributes":` + strings.Replace(other, "old", "new", 1) + `}`), outcome.Unknown},
		{"another's sum", add, ok(`{"Attributes":` + item + `}`), outcome.Unknown},
		{"a sum", add, ok(`{"Attributes":` + strings.Replace(item, "old", "new", 1) + `}`), outcome.Applied},

		{"refused by the item", putNew, refusal(item), outcome.Refused},
		{"refused by nothing", putNew, refusal("{}"), outcome.NotApplied},
		{"refused by another's item", putNew, refusal(other), outcome.NotApplied},
		{"refused by the revision that was named", putRev, refusal(item), outcome.NotApplied},
		{"refused without a condition", put, refusal(item), outcome.NotApplied},
		{"a sum refused by an item that allows it", add, refusal(item), outcome.NotApplied},
		{"reasons of another transaction", both, canceled("None", "ConditionalCheckFailed"), outcome.NotApplied},
		{"no reasons", both, failure(400, "TransactionCanceledException"), outcome.NotApplied},
		{"refused by nothing in a transaction", both, canceled("ConditionalCheckFailed"), outcome.NotApplied},
		{"a read that is refused", get, refusal(item), outcome.NotApplied},
		{"a batch that is refused", many, refusal("{}"), outcome.NotApplied},
		{"a page that is refused", query, refusal("{}"), outcome.NotApplied},
		{"a list of locks that is refused", list, refusal("{}"), outcome.NotApplied},
		{"a read that is canceled", get, canceled("ConditionalCheckFailed"), outcome.NotApplied},
		{"a list of locks that is canceled", list, canceled("ConditionalCheckFailed"), outcome.NotApplied},
		{"a write refused as a transaction", putRev, canceled("ConditionalCheckFailed"), outcome.NotApplied},
		{"a transaction refused as a write", both, refusal(item), outcome.NotApplied},
		{"a release refused as a transaction", deleteLock, canceled("ConditionalCheckFailed"), outcome.NotApplied},
		{"a lock that is free", putLock, refusal(held), outcome.NotApplied},
		{"a lock that nothing holds", putLock, refusal("{}"), outcome.NotApplied},
		{"a lock that is held", putLock, refusal(strings.Replace(held, `"5"`, `"50"`, 1)), outcome.Refused},
		{"another's lock", putLock, refusal(item), outcome.NotApplied},
		{"a release refused by the owner's lock", deleteLock, refusal(held), outcome.NotApplied},
		{"a release of a lock that is gone", deleteLock, refusal("{}"), outcome.Refused},
		{"a release of another's lock", deleteLock, refusal(strings.Replace(held, `"me"`, `"you"`, 1)), outcome.Refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := test.send(t.Context(), newFake(t, test.answer).open(t))
			var e *outcome.Error
			failed := a.Outcome != outcome.Applied && a.Outcome != outcome.Refused
			if a.Outcome != test.outcome || failed && (!errors.As(a.Err, &e) || !e.Retryable) || !failed && a.Err != nil {
				t.Errorf("got %v and %v, want %v", a.Outcome, a.Err, test.outcome)
			}
		})
	}
}

// TestAnswerThatComesAgainIsNotBelieved has a cache in place of the table that
// doesn't say that it is one: its answers have the headers of an earlier one.
func TestAnswerThatComesAgainIsNotBelieved(t *testing.T) {
	cached := answer{status: 200, body: "{}", header: func(h http.Header) { h.Set("X-Amzn-Requestid", "FIRST") }}
	s := newFake(t, cached).open(t)
	if r := s.Get(t.Context(), key, false); r.Outcome != outcome.Applied {
		t.Fatalf("the first answer: got %v and %v, want applied", r.Outcome, r.Err)
	}
	put := db.Write{Kind: db.Put, Key: key, Value: 1.0, Rev: "new"}
	if r := s.Write(t.Context(), put, 1); r.Outcome != outcome.Unknown {
		t.Errorf("a put: got %v, want unknown", r.Outcome)
	}
	if r := s.Get(t.Context(), key, false); r.Outcome != outcome.NotApplied || r.Err == nil {
		t.Errorf("a read: got %v and %v, want not applied", r.Outcome, r.Err)
	}
}
