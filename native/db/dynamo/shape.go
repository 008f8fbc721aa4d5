package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
)

// What follows checks that an answer of the service fits the request: it has the
// members that such an answer always has, and is about the rows that were named.
// Each function returns a [doubt] if not. An answer that says that there is
// nothing, or that something was done, is an empty object: then the names of its
// members are all that can be checked.

// members are the names of the members of an answer.
type members map[string]bool

// membersOf reads the names of the members of the answer to the request of ctx.
func membersOf(ctx context.Context) (members, error) {
	trip, _ := ctx.Value(roundTripKey{}).(*roundTrip)
	trip.mu.Lock()
	body := trip.body
	trip.mu.Unlock()
	if bytes.Equal(body, []byte("{}")) {
		return nil, nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(body, &values); err != nil {
		return nil, malformedAnswer("%w", err)
	}
	names := make(members, len(values))
	for name, value := range values {
		if !isMemberName(name) || string(value) == "null" {
			return nil, malformedAnswer("it has the member %q: %.100s", name, value)
		}
		names[name] = true
	}
	return names, nil
}

// isMemberName reports whether a success of the service may have a member of this
// name. All names begin with a capital letter, and those of errors are excluded. A
// later version of the service may have new members.
func isMemberName(name string) bool {
	return name != "" && 'A' <= name[0] && name[0] <= 'Z' && name != "Message" && !strings.HasPrefix(name, "Error")
}

// require returns a doubt if one of the names is not there.
func (m members) require(names ...string) error {
	for _, name := range names {
		if !m[name] {
			return malformedAnswer("it lacks the member %s", name)
		}
	}
	return nil
}

// otherMembers are members of answers that return data, and not only that something
// was done or doesn't exist.
var otherMembers = []string{
	"Item", "Items", "Count", "ScannedCount", "LastEvaluatedKey", "Responses", "UnprocessedKeys", "UnprocessedItems",
	"Attributes", "CancellationReasons", "Table", "TableDescription", "TimeToLiveDescription", "TimeToLiveSpecification",
}

// checkEmpty checks an answer that returns nothing: a write is done, or there is no
// item.
func checkEmpty(ctx context.Context) error {
	names, err := membersOf(ctx)
	if err != nil {
		return err
	}
	for _, other := range otherMembers {
		if names[other] {
			return malformedAnswer("it has the member %s", other)
		}
	}
	return nil
}

func checkItemOf(ctx context.Context, key db.Key, out *dynamodb.GetItemOutput) error {
	if out.Item != nil {
		return checkKey(key, out.Item)
	}
	return checkEmpty(ctx)
}

// checkKey checks that an item is the one of key.
func checkKey(key db.Key, item attributes) error {
	if got := rowKey(item); got != key {
		return malformedAnswer("it has the item of %q, want %q", got, key)
	}
	return nil
}

func (s *Store) checkBatch(keys []db.Key, out *dynamodb.BatchGetItemOutput) error {
	if out.Responses == nil || out.UnprocessedKeys == nil {
		return malformedAnswer("it lacks the items, or the keys that were not read")
	}
	wanted := make(map[db.Key]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	// Each key is in one of the two at most, and once.
	take := func(item attributes) error {
		if key := rowKey(item); !wanted[key] {
			return malformedAnswer("it has the key %q, which was not requested or appears twice", key)
		}
		delete(wanted, rowKey(item))
		return nil
	}
	for _, left := range out.UnprocessedKeys {
		for _, key := range left.Keys {
			if err := take(key); err != nil {
				return err
			}
		}
	}
	if _, ok := out.Responses[s.table]; !ok && len(wanted) > 0 {
		return malformedAnswer("it has no items of table %q", s.table)
	}
	for _, items := range out.Responses {
		for _, item := range items {
			if err := take(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPage checks the answer to a query of the sort keys from low to high.
func checkPage(ctx context.Context, q db.Query, out *dynamodb.QueryOutput) error {
	if len(out.Items) == 0 { // otherwise the numbers show that they are there
		names, err := membersOf(ctx)
		if err == nil {
			err = names.require("Items", "Count", "ScannedCount")
		}
		if err != nil {
			return err
		}
	}
	if n := len(out.Items); int(out.Count) != n || out.ScannedCount < out.Count || int(out.ScannedCount) > q.Limit {
		return malformedAnswer("it has %d items, and says %d of %d rows, want at most %d", n, out.Count, out.ScannedCount, q.Limit)
	}
	last := ""
	for _, item := range out.Items {
		if err := checkPlace(q, last, item, q.KeysOnly); err != nil {
			return err
		}
		last = textOf(item, attrKey)
	}
	if out.LastEvaluatedKey != nil {
		return checkPlace(q, "", out.LastEvaluatedKey, false)
	}
	return nil
}

// checkPlace checks that an item lies in the range of q, behind the one with the
// key last; "" means that it is the first.
func checkPlace(q db.Query, last string, item attributes, keyOnly bool) error {
	got := rowKey(item)
	inOrder := last == "" || got.Key > last
	if q.Reverse {
		inOrder = last == "" || got.Key < last
	}
	if got.Key < q.Low || got.Key > q.High || !inOrder || !keyOnly && got.Partition != q.Partition {
		return malformedAnswer("it has the item of %q, which is out of place", got)
	}
	return nil
}

// checkSum checks the answer to an addition: the item after it.
func checkSum(w db.Write, after attributes) error {
	if err := checkKey(w.Key, after); err != nil {
		return err
	}
	if rev := textOf(after, attrRev); rev != w.Rev {
		return malformedAnswer("the item has the revision %q, want %q", rev, w.Rev)
	}
	return nil
}

// refusedBy reads the item for which the condition of w does not hold, and checks
// that it doesn't.
func refusedBy(w db.Write, now int64, item attributes) (*db.Row, error) {
	if len(item) > 0 {
		if err := checkKey(w.Key, item); err != nil {
			return nil, err
		}
	}
	row, err := rowOf(item)
	if err != nil {
		return nil, err
	}
	// An addition is refused by a row that has expired.
	if _, holds := w.Apply(row, now); holds && (w.Kind != db.Add || row.Alive(now)) {
		return nil, malformedAnswer("the condition of the write holds for the item that it names")
	}
	return row, nil
}

func (s *Store) checkTable(t *types.TableDescription) error {
	switch {
	case t == nil || t.TableStatus == "" || len(t.KeySchema) == 0:
		return malformedAnswer("it does not describe a table")
	case aws.ToString(t.TableName) != s.table && aws.ToString(t.TableArn) != s.table:
		return malformedAnswer("it describes the table %q", aws.ToString(t.TableName))
	}
	return nil
}

// refusedLock reads the lock for which a condition does not hold, nil if there is
// none.
func refusedLock(key lock.Key, item attributes) (*lock.Row, error) {
	if len(item) == 0 {
		return nil, nil
	}
	if err := checkKey(db.Key{Partition: key.Partition(), Key: key.Name}, item); err != nil {
		return nil, err
	}
	row := lockRow(key, item)
	return &row, nil
}
