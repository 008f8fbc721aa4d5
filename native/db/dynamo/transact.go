package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Transact implements [db.Store]. All attempts under one token have to be the same
// to the byte, so now must not change: the service compares them.
func (s *Store) Transact(ctx context.Context, token string, writes []db.Write, now int64) (result db.TransactResult) {
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token}
	for _, w := range writes {
		in.TransactItems = append(in.TransactItems, s.entry(w, changeOf(w, now)))
	}
	var err error
	result.Attempt, err = s.attempt(ctx, canceled, func(ctx context.Context) error {
		_, err := s.client.TransactWriteItems(ctx, in, func(o *dynamodb.Options) {
			o.Interceptors.AddAfterSerialization(sortedFields{})
		})
		if err != nil {
			return err
		}
		return checkEmpty(ctx)
	})
	if result.Outcome == outcome.Refused {
		result.Refusals, err = refusals(err, writes, now)
		s.checkReadable(&result.Attempt, err)
	}
	return result
}

func (s *Store) entry(w db.Write, c change) types.TransactWriteItem {
	switch w.Kind {
	case db.Put:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &s.table, Item: itemOf(w),
			ConditionExpression: c.text(), ExpressionAttributeNames: c.names(), ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: c.onRefusal(),
		}}
	case db.Delete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: &s.table, Key: keyOf(w.Key),
			ConditionExpression: c.text(), ExpressionAttributeNames: c.names(), ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: c.onRefusal(),
		}}
	case db.Add:
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &s.table, Key: keyOf(w.Key), UpdateExpression: &c.update,
			ConditionExpression: c.text(), ExpressionAttributeNames: c.names(), ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: c.onRefusal(),
		}}
	default:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &s.table, Key: keyOf(w.Key),
			ConditionExpression: c.text(), ExpressionAttributeNames: c.names(), ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: c.onRefusal(),
		}}
	}
}

// refusals are the writes whose conditions did not hold.
func refusals(err error, writes []db.Write, now int64) (refused []db.Refusal, _ error) {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return nil, err
	}
	if got := len(canceled.CancellationReasons); got != len(writes) {
		return nil, malformedAnswer("it has %d reasons for %d writes", got, len(writes))
	}
	for i, reason := range canceled.CancellationReasons {
		if code(reason) != reasonCondition {
			continue
		}
		row, err := refusedBy(writes[i], now, reason.Item)
		if err != nil {
			return nil, err
		}
		refused = append(refused, db.Refusal{Index: i, Row: row})
	}
	return refused, nil
}

// sortedFields sorts the fields of a request. The SDK writes them in the random
// order of Go's maps, and the service may refuse a token that comes again with
// another text.
type sortedFields struct{}

// AfterSerialization implements [smithyhttp.AfterSerializationInterceptor].
func (sortedFields) AfterSerialization(_ context.Context, in *smithyhttp.InterceptorContext) error {
	var fields any
	decoder := json.NewDecoder(in.Request.GetStream())
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return err
	}
	text, err := json.Marshal(fields) // sorts the keys of maps
	if err != nil {
		return err
	}
	ordered, err := in.Request.SetStream(bytes.NewReader(text))
	if err != nil {
		return err
	}
	*in.Request = *ordered
	return nil
}
