package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Get implements [db.Store].
func (s *Store) Get(ctx context.Context, key db.Key, stale bool) (result db.RowResult) {
	var out *dynamodb.GetItemOutput
	result.Attempt = s.read(ctx, func(ctx context.Context) (err error) {
		out, err = s.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &s.table, Key: keyOf(key), ConsistentRead: aws.Bool(!stale),
		})
		if err != nil {
			return err
		}
		return checkItemOf(ctx, key, out)
	})
	if result.Outcome == outcome.Applied {
		var err error
		result.Row, err = rowOf(out.Item)
		s.checkReadable(&result.Attempt, err)
	}
	return result
}

// checkReadable makes an attempt whose response could not be read NotApplied, with
// the error err; nil leaves it as it is.
func (s *Store) checkReadable(a *outcome.Attempt, err error) {
	if err == nil {
		return
	}
	a.Outcome = outcome.NotApplied
	if d, ok := errors.AsType[*doubt](err); ok {
		s.logDoubt(d)
		a.Err = unavailable(true, d, "%s", d.message)
	} else {
		a.Err = unavailable(false, err, "%v", errForeign)
	}
}

// GetMany implements [db.Store]. The service leaves keys unread if the response
// would be too large, or the load is too high.
func (s *Store) GetMany(ctx context.Context, keys []db.Key, stale bool) (result db.BatchResult) {
	wanted := types.KeysAndAttributes{ConsistentRead: aws.Bool(!stale)}
	for _, key := range keys {
		wanted.Keys = append(wanted.Keys, keyOf(key))
	}
	var out *dynamodb.BatchGetItemOutput
	result.Attempt = s.read(ctx, func(ctx context.Context) (err error) {
		out, err = s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.table: wanted},
		})
		if err != nil {
			return err
		}
		return s.checkBatch(keys, out)
	})
	if result.Outcome == outcome.Applied {
		s.checkReadable(&result.Attempt, readBatch(out, &result))
	}
	return result
}

func readBatch(out *dynamodb.BatchGetItemOutput, result *db.BatchResult) error {
	result.Rows = map[db.Key]db.Row{}
	for _, items := range out.Responses { // one table
		for _, item := range items {
			row, err := rowOf(item)
			if err != nil {
				return err
			}
			result.Rows[rowKey(item)] = *row
		}
	}
	for _, left := range out.UnprocessedKeys {
		for _, key := range left.Keys {
			result.Unread = append(result.Unread, rowKey(key))
		}
	}
	return nil
}

func rowKey(item attributes) db.Key {
	return db.Key{Partition: textOf(item, attrPartition), Key: textOf(item, attrKey)}
}

// Query implements [db.Store]. A range has both of its ends, so one condition on
// the sort key is enough, and no cursor of the service is needed.
func (s *Store) Query(ctx context.Context, q db.Query) (result db.QueryResult) {
	const inRange = "#p = :p AND #k BETWEEN :low AND :high"
	in := &dynamodb.QueryInput{
		TableName:              &s.table,
		KeyConditionExpression: aws.String(inRange),
		FilterExpression:       aws.String(ifAlive),
		ExpressionAttributeValues: attributes{
			":p": str(q.Partition), ":low": str(q.Low), ":high": str(q.High), ":now": number(q.Now),
		},
		ScanIndexForward: aws.Bool(!q.Reverse),
		ConsistentRead:   aws.Bool(!q.Stale),
		Limit:            aws.Int32(int32(q.Limit)),
	}
	projection := ""
	if q.KeysOnly {
		projection = "#k, #r, #x"
		in.ProjectionExpression = &projection
	}
	in.ExpressionAttributeNames = names(inRange, ifAlive, projection)
	var out *dynamodb.QueryOutput
	result.Attempt = s.read(ctx, func(ctx context.Context) (err error) {
		if out, err = s.client.Query(ctx, in); err != nil {
			return err
		}
		return checkPage(ctx, q, out)
	})
	if result.Outcome == outcome.Applied {
		result.Last = textOf(out.LastEvaluatedKey, attrKey)
		s.checkReadable(&result.Attempt, readPage(out, q.KeysOnly, &result))
	}
	return result
}

func readPage(out *dynamodb.QueryOutput, keysOnly bool, result *db.QueryResult) error {
	for _, item := range out.Items {
		row := headOf(item)
		if !keysOnly {
			whole, err := rowOf(item)
			if err != nil {
				return err
			}
			row = *whole
		}
		result.Items = append(result.Items, db.Item{Key: textOf(item, attrKey), Row: row})
	}
	return nil
}

// Write implements [db.Store].
func (s *Store) Write(ctx context.Context, w db.Write, now int64) (result db.RowResult) {
	c := changeOf(w, now)
	var after attributes
	var err error
	result.Attempt, err = s.attempt(ctx, refused, func(ctx context.Context) (err error) {
		after, err = s.write(ctx, w, c)
		return err
	})
	switch {
	case result.Outcome == outcome.Refused:
		result.Row, err = refusedBy(w, now, conflictingItem(err))
		s.checkReadable(&result.Attempt, err)
	case result.Outcome != outcome.Applied:
	case w.Kind == db.Put:
		result.Row = &db.Row{Value: w.Value, Rev: w.Rev, Expires: w.Expires}
	case w.Kind == db.Add:
		if result.Row, err = rowOf(after); err != nil || result.Row == nil {
			result.Outcome, result.Err = outcome.Unknown, unavailable(false, err, "the sum is not in the table's answer")
		}
	}
	return result
}

// write sends a write. after is the item after an Add.
func (s *Store) write(ctx context.Context, w db.Write, c change) (after attributes, err error) {
	switch w.Kind {
	case db.Put:
		_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.table, Item: itemOf(w),
			ConditionExpression: c.text(), ExpressionAttributeNames: c.names(), ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: c.onRefusal(),
		})
		if err == nil {
			err = checkEmpty(ctx)
		}
		return nil, err
	case db.Delete:
		_, err = s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &s.table, Key: keyOf(w.Key),
			ConditionExpression: c.text(), ExpressionAttributeNames: c.names(), ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: c.onRefusal(),
		})
		if err == nil {
			err = checkEmpty(ctx)
		}
		return nil, err
	default:
		out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &s.table, Key: keyOf(w.Key), UpdateExpression: &c.update,
			ConditionExpression: c.text(), ExpressionAttributeNames: c.names(), ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: c.onRefusal(), ReturnValues: types.ReturnValueAllNew,
		})
		if err != nil {
			return nil, err
		}
		return out.Attributes, checkSum(w, out.Attributes)
	}
}

// conflictingItem is the item for which a condition did not hold, nil if there
// was none.
func conflictingItem(err error) attributes {
	var refused *types.ConditionalCheckFailedException
	if !errors.As(err, &refused) {
		return nil
	}
	return refused.Item
}
