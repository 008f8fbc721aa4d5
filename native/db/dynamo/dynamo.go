// Package dynamo is the engine of native.db on DynamoDB: one table for all
// tenants, which any number of processes use at once.
//
// A row of native.db is an item with the attributes p (partition key, with the
// tenant in front), k (sort key), v (value), r (revision), x (expiry in seconds
// since 1970, the table's TTL attribute) and, where the value is a whole number
// that can be added to, t ("i"). A lock is an item of the partition
// "<tenant>/!locks", see [lock.Row].
//
// # One attempt
//
// Each call is one request and never repeated here, neither by the SDK nor by
// net/http (which sends again only what never left). What an attempt has come
// to is told from two facts, whether the request was given a connection and
// whether the service itself has answered:
//
//	no connection was had         not applied
//	the service accepted          applied
//	its condition did not hold    refused
//	the service turned it down    not applied: throttled, in the way of a
//	                              transaction, no such table, denied, malformed
//	everything else               unknown: no answer, a broken one, a failure
//	                              inside the service, an answer of somebody else
//
// Reads have no side effect, so theirs are not applied instead of unknown.
// Each answer of the service carries its Date, also one that turns a request
// down; answers of others on the way (proxies) tell no time.
//
// # Permissions
//
// GetItem, BatchGetItem, Query, PutItem, UpdateItem, DeleteItem and
// ConditionCheckItem on the table. Never Scan or PartiQL: nothing here needs
// them, and rules about leading keys don't bind them. Creating and checking a
// table need CreateTable, DescribeTable, DescribeTimeToLive and
// UpdateTimeToLive.
package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
)

// Options say which table to use.
type Options struct {
	// Table is the table's name. Required.
	Table string
	// Region is the table's region; "" takes that of the environment or of the
	// user's AWS configuration.
	Region string
	// Endpoint is the address of the service, for emulators and private
	// endpoints; "" is the region's.
	Endpoint string
	// Credentials sign the requests; nil takes those of the environment, of
	// the user's AWS configuration or of the machine.
	Credentials aws.CredentialsProvider
	// Log takes what the SDK has to say, and why the table is throttled; nil:
	// nobody.
	Log *zap.Logger
}

// Store is a table. It is safe for use by many goroutines.
type Store struct {
	clock       *clock.Dual
	table       string
	client      *dynamodb.Client
	http        *httpClient
	credentials aws.CredentialsProvider
	log         *zap.Logger
}

var (
	_ db.Store    = (*Store)(nil)
	_ lock.Table  = (*Store)(nil)
	_ lock.Lister = (*Store)(nil)
)

// Open returns the table, without a request to it. hands time the answers.
func Open(ctx context.Context, clk *clock.Dual, o Options) (*Store, error) {
	if o.Table == "" {
		return nil, errors.New("no table is named")
	}
	if u, err := url.Parse(o.Endpoint); err != nil || o.Endpoint != "" && u.Host == "" {
		return nil, fmt.Errorf("endpoint %q: want http(s)://host[:port]", o.Endpoint)
	}
	log := sampled(o.Log)
	c, err := awsConfig(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", o.Table, err)
	}
	s := &Store{clock: clk, table: o.Table, http: newHTTPClient(clk), credentials: c.Credentials, log: log}
	c.Logger = sdkLog{log}
	if o.Endpoint != "" {
		c.BaseEndpoint = &o.Endpoint
	}
	s.client = dynamodb.NewFromConfig(c, s.configure)
	return s, nil
}

// awsConfig reads what the options leave open.
func awsConfig(ctx context.Context, o Options) (aws.Config, error) {
	read := []func(*config.LoadOptions) error{config.WithDefaultsMode(aws.DefaultsModeInRegion)}
	if o.Region != "" {
		read = append(read, config.WithRegion(o.Region))
	}
	if o.Credentials != nil {
		read = append(read, config.WithCredentialsProvider(o.Credentials))
	}
	c, err := config.LoadDefaultConfig(ctx, read...)
	if err == nil && c.Region == "" {
		err = errors.New("its region is not known: set db.region, or AWS_REGION")
	}
	return c, err
}

// configure makes a call of the SDK one attempt.
func (s *Store) configure(c *dynamodb.Options) {
	c.Retryer = aws.NopRetryer{}
	c.HTTPClient = s.http
	// Another host name for each account would only cost one more connection.
	c.AccountIDEndpointMode = aws.AccountIDEndpointModeDisabled
	// TLS protects answers better. Emulators send none with errors, and the
	// SDK would warn each time that a condition does not hold.
	c.DisableValidateResponseChecksum = true
}

// DropIdle closes connections that nobody uses: after a suspension the other
// side has forgotten them.
func (s *Store) DropIdle() { s.http.CloseIdleConnections() }

// Close closes idle connections. No call may be under way.
func (s *Store) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// sampled keeps a store in trouble from flooding the log: the first few of equal
// records count.
func sampled(log *zap.Logger) *zap.Logger {
	if log == nil {
		return zap.NewNop()
	}
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, 3, 0)
	}))
}
