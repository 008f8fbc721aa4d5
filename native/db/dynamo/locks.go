package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Names of the attributes of a lock beside those of its key and its expiry.
const (
	attrOwner = "owner"
	attrStart = "start"
	attrUntil = "until"
	attrBy    = "by"
)

// locksPage is how many locks one page of a list has.
const locksPage = 100

// PutLock implements [lock.Table].
func (s *Store) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) (result lock.RowResult) {
	const isFree = "attribute_not_exists(#p) OR #until <= :now"
	var err error
	result.Attempt, err = s.attempt(ctx, refused, func(ctx context.Context) error {
		_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.table, Item: lockItem(row),
			ConditionExpression:                 aws.String(isFree),
			ExpressionAttributeNames:            names(isFree),
			ExpressionAttributeValues:           attributes{":now": number(int64(now))},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err != nil {
			return err
		}
		return checkEmpty(ctx)
	})
	switch {
	case result.Outcome == outcome.Refused:
		item := conflictingItem(err)
		if result.Old, err = refusedLock(row.Key, item); err == nil && isFreeAt(item, now) {
			err = malformedAnswer("the lock that it names is free")
		}
		s.checkReadable(&result.Attempt, err)
	case result.Outcome == outcome.Applied && result.Date.IsZero():
		// If both clocks stood still while the process was suspended, only a date
		// shows that its lease has ended: a grant without one doesn't count.
		result.Outcome, result.Err = outcome.Unknown, unavailable(true, nil, "the table's answer has no date")
	}
	return result
}

// DeleteLock implements [lock.Table].
func (s *Store) DeleteLock(ctx context.Context, key lock.Key, owner string) (result lock.RowResult) {
	const isOwner = "#owner = :owner"
	var err error
	result.Attempt, err = s.attempt(ctx, refused, func(ctx context.Context) error {
		_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &s.table, Key: lockKey(key),
			ConditionExpression:                 aws.String(isOwner),
			ExpressionAttributeNames:            names(isOwner),
			ExpressionAttributeValues:           attributes{":owner": str(owner)},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err != nil {
			return err
		}
		return checkEmpty(ctx)
	})
	if result.Outcome == outcome.Refused {
		if result.Old, err = refusedLock(key, conflictingItem(err)); err == nil && result.Old != nil && result.Old.Owner == owner {
			err = malformedAnswer("the lock that it names is of the owner")
		}
		s.checkReadable(&result.Attempt, err)
	}
	return result
}

// isFreeAt reports whether a put of a lock at now can't have been refused because
// of item.
func isFreeAt(item attributes, now lock.UnixMilli) bool {
	_, hasEnd := item[attrUntil].(*types.AttributeValueMemberN)
	return len(item) == 0 || hasEnd && lock.UnixMilli(integerOf(item, attrUntil)) <= now
}

// ListLocks implements [lock.Lister].
func (s *Store) ListLocks(ctx context.Context, id tenant.ID, after string) (page lock.Page) {
	condition, values := "#p = :p", attributes{":p": str(lock.Key{Tenant: id}.Partition())}
	if after != "" {
		condition += " AND #k > :after"
		values[":after"] = str(after)
	}
	const last = "\xff" // behind all names
	wanted := db.Query{Partition: lock.Key{Tenant: id}.Partition(), Low: after, High: last, Limit: locksPage}
	var out *dynamodb.QueryOutput
	page.Attempt = s.read(ctx, func(ctx context.Context) (err error) {
		out, err = s.client.Query(ctx, &dynamodb.QueryInput{
			TableName:                 &s.table,
			KeyConditionExpression:    &condition,
			ExpressionAttributeNames:  names(condition),
			ExpressionAttributeValues: values,
			ConsistentRead:            aws.Bool(true),
			Limit:                     aws.Int32(locksPage),
		})
		if err != nil {
			return err
		}
		return checkPage(ctx, wanted, out)
	})
	if page.Outcome != outcome.Applied {
		return page
	}
	for _, item := range out.Items {
		page.Rows = append(page.Rows, lockRow(lock.Key{Tenant: id, Name: textOf(item, attrKey)}, item))
	}
	page.After = textOf(out.LastEvaluatedKey, attrKey)
	return page
}

func lockKey(key lock.Key) attributes {
	return keyOf(db.Key{Partition: key.Partition(), Key: key.Name})
}

func lockItem(row lock.Row) attributes {
	by := attributes{}
	for name, text := range row.By.Attributes() {
		by[name] = encode(text)
	}
	item := lockKey(row.Key)
	item[attrOwner] = str(row.Owner)
	item[attrStart], item[attrUntil] = number(int64(row.Start)), number(int64(row.Until))
	item[attrBy] = &types.AttributeValueMemberM{Value: by}
	item[attrExpires] = number(row.Expiry())
	return item
}

// lockRow reads an item. Attributes that are missing or of another type are zero.
func lockRow(key lock.Key, item attributes) lock.Row {
	var by attributes
	if m, ok := item[attrBy].(*types.AttributeValueMemberM); ok {
		by = m.Value
	}
	return lock.Row{
		Key:   key,
		Owner: textOf(item, attrOwner),
		Start: lock.UnixMilli(integerOf(item, attrStart)),
		Until: lock.UnixMilli(integerOf(item, attrUntil)),
		By: lock.Holder{
			HostKind: textOf(by, "host_kind"),
			HostName: textOf(by, "host_name"),
			Process:  textOf(by, "process"),
			Run:      textOf(by, "run"),
			Script:   textOf(by, "script"),
		},
	}
}
