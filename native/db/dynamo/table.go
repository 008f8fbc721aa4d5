package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const (
	// createTime is how long a new table may take to become active; it
	// usually takes some ten seconds.
	createTime = 5 * time.Minute
	// createPoll is how often to check whether it is active.
	createPoll = time.Second
)

// CreateTable makes the table that native.db needs: its keys are p and k, items
// expire by the attribute x, and it is billed by use. It returns once the table can
// be used. If the table exists, created is false: only the expiry is set if it is
// missing, and other keys are an error.
func (s *Store) CreateTable(ctx context.Context) (created bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	if created, err = s.create(ctx); err != nil {
		return false, fmt.Errorf("create table %q: %w", s.table, err)
	}
	table, err := s.waitActive(ctx)
	if err == nil {
		err = checkKeys(table)
	}
	if err == nil {
		err = s.setExpiry(ctx)
	}
	if err != nil {
		return created, fmt.Errorf("table %q: %w", s.table, err)
	}
	return created, nil
}

// withRetries lets the SDK repeat the requests of operators, which are no attempts
// of native.db. It repeats those that can't be sent or have no answer of the
// service, and here also those that came too late for their signature.
func withRetries(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		r.Retryables = append(r.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if failure, ok := errors.AsType[smithy.APIError](err); ok && classOf(new(roundTrip), failure) == outdated {
				return aws.TrueTernary
			}
			return aws.UnknownTernary
		}))
	})
}

func (s *Store) create(ctx context.Context) (created bool, err error) {
	_, err = s.describe(ctx)
	if !isMissing(err) {
		return false, err
	}
	out, err := s.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &s.table,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attrPartition), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attrKey), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(attrPartition), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(attrKey), KeyType: types.KeyTypeRange},
		},
	}, withRetries)
	var inUse *types.ResourceInUseException
	if errors.As(err, &inUse) { // another process is creating it
		return false, nil
	}
	if err == nil {
		err = s.checkTable(out.TableDescription)
	}
	return err == nil, err
}

func (s *Store) describe(ctx context.Context) (*types.TableDescription, error) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table}, withRetries)
	if err != nil {
		return nil, err
	}
	return out.Table, s.checkTable(out.Table)
}

func isMissing(err error) bool {
	var missing *types.ResourceNotFoundException
	return errors.As(err, &missing)
}

// waitActive waits until the table can be used. Right after its creation it may
// still be reported as missing.
func (s *Store) waitActive(ctx context.Context) (*types.TableDescription, error) {
	for {
		table, err := s.describe(ctx)
		if err == nil && usable(table) || err != nil && !isMissing(err) {
			return table, err
		}
		if err := s.clock.Sleep(ctx, createPoll); err != nil {
			return nil, err
		}
	}
}

func usable(t *types.TableDescription) bool {
	return t.TableStatus == types.TableStatusActive || t.TableStatus == types.TableStatusUpdating
}

// checkKeys returns an error if the table's keys are not p and k.
func checkKeys(t *types.TableDescription) error {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range t.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	have := ""
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		have += fmt.Sprintf(" %s %s (%s)", k.KeyType, name, kinds[name])
	}
	if want := " HASH p (S) RANGE k (S)"; have != want {
		return fmt.Errorf("its keys are%s, want%s", have, want)
	}
	return nil
}

// expiry returns the attribute by which items of the table expire, "" if they
// don't.
func (s *Store) expiry(ctx context.Context) (attribute string, err error) {
	out, err := s.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.table}, withRetries)
	if err != nil {
		return "", err
	}
	ttl := out.TimeToLiveDescription
	if ttl == nil || ttl.TimeToLiveStatus == "" {
		return "", malformedAnswer("it does not describe the expiry of a table")
	}
	if ttl.TimeToLiveStatus != types.TimeToLiveStatusEnabled && ttl.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	if ttl.AttributeName == nil {
		return "", malformedAnswer("it does not name the attribute of the expiry")
	}
	return *ttl.AttributeName, nil
}

func (s *Store) setExpiry(ctx context.Context) error {
	switch attribute, err := s.expiry(ctx); {
	case err != nil:
		return err
	case attribute == attrExpires:
		return nil
	case attribute != "":
		return fmt.Errorf("its items expire by %q, want %q: switch that off first", attribute, attrExpires)
	}
	out, err := s.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &s.table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attrExpires), Enabled: aws.Bool(true),
		},
	}, withRetries)
	if attribute, _ := s.expiry(ctx); attribute == attrExpires {
		return nil // another process may have set it before, which is an error
	}
	if err == nil && (out.TimeToLiveSpecification == nil || aws.ToString(out.TimeToLiveSpecification.AttributeName) != attrExpires) {
		return malformedAnswer("it does not confirm the expiry")
	}
	return err
}
