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
// Each call is one request. It is never repeated here, neither by the SDK nor by
// net/http, which sends a request again only if nothing of it was written. The
// outcome follows from two facts, whether the request had a connection and what
// the service itself has answered:
//
//	there was no connection       not applied
//	the service accepted          applied
//	its condition did not hold    refused
//	the service rejected it       not applied: throttled, in conflict with a
//	                              transaction, no such table, denied, malformed
//	everything else               unknown: no response, a failure inside the
//	                              service, a response of something else, a
//	                              success that is not whole
//
// Reads have no side effect, so they are not applied instead of unknown. Each
// response of the service has a Date, even one that rejects the request; the Date
// of a proxy's response is not used.
//
// # Which answers are believed
//
// A response is the service's if its headers have a request id that no response
// before had, and the service's type of content, and don't come from a cache. A
// condition can be refused only where the request has one. A success must also have the
// checksum of its body, match it, and fit its request: the members that such an
// answer always has, about the keys that were named. A rejection must match its
// checksum if it has one: DynamoDB Local sends none with rejections, but one with
// each success. The class of its status holds in any case: a rejection that broke
// off or was damaged is not applied, and may be sent again.
//
// # Permissions
//
// Using a table needs GetItem, BatchGetItem, Query, PutItem, UpdateItem, DeleteItem
// and ConditionCheckItem. Don't allow Scan and PartiQL: they are not used, and policies
// about leading keys don't apply to them. Creating and checking a table need
// CreateTable, DescribeTable, DescribeTimeToLive and UpdateTimeToLive.
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

// Options say which table to use, and how to reach it.
type Options struct {
	// Table is the table's name. Required.
	Table string
	// Region is the table's region. The default is that of the environment or of
	// the AWS configuration file.
	Region string
	// Endpoint is the address of the service, for emulators and private endpoints.
	// The default is that of the region.
	Endpoint string
	// Credentials sign the requests. The default are those of the environment, of
	// the AWS configuration file or of the machine.
	Credentials aws.CredentialsProvider
	// Log receives what the SDK logs, and why the table is throttled; nil disables
	// it.
	Log *zap.Logger
}

// Store is a table. It is safe for concurrent use.
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

// Open returns the table, without a request to it. clk timestamps the attempts.
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

// awsConfig reads the AWS configuration for what the options don't set.
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

// configure makes each call of the SDK one attempt.
func (s *Store) configure(c *dynamodb.Options) {
	c.Retryer = aws.NopRetryer{}
	c.HTTPClient = s.http
	// Another host name for each account would only cost one more connection.
	c.AccountIDEndpointMode = aws.AccountIDEndpointModeDisabled
	// TLS protects responses better. Emulators send no checksum with errors, and
	// the SDK would warn each time that a condition does not hold.
	c.DisableValidateResponseChecksum = true
}

// DropIdle closes idle connections. It is for the time after a suspension, when
// the service has closed its end of them.
func (s *Store) DropIdle() { s.http.CloseIdleConnections() }

// Close closes idle connections. No call may be in progress.
func (s *Store) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// sampled keeps a failing store from flooding the log: it passes on the first few
// of equal records in each second.
func sampled(log *zap.Logger) *zap.Logger {
	if log == nil {
		return zap.NewNop()
	}
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, 3, 0)
	}))
}
