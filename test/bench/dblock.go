package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/value"
)

const (
	cycleRounds = 60
	cycleTurn   = 25 // cycles of a contender in one turn
)

// cycleScript acquires and releases a lock again and again, and returns how long
// each cycle took.
const cycleScript = `return function(e)
	local took = {}
	for i = 1, e.times do
		local from = native.time()
		native.lock.with("cycle", function() end)
		took[i] = native.time() - from
	end
	return took
end`

// dbLock measures what an uncontended db lock costs on DynamoDB Local.
func dbLock(b *bench) error {
	endpoint, err := b.emulator()
	if err != nil {
		return err
	}
	ours, err := newProcess(b, endpoint)
	if err != nil {
		return err
	}
	defer ours.store.Close()
	// The first answers of the emulator are too slow to tell the time, so a
	// process would ask for it once more.
	if _, err := ours.cycles(b, cycleTurn); err != nil {
		return err
	}
	if err := b.countCycles(endpoint); err != nil {
		return err
	}
	sdk, err := newSDKClient(b, endpoint)
	if err != nil {
		return err
	}
	return b.timeCycles([]lockCycles{
		{"the SDK's PutItem and DeleteItem", "", func(n int) ([]time.Duration, error) { return sdk.cycles(b, n, false) }},
		{"the same on the lock's conditions", "", func(n int) ([]time.Duration, error) { return sdk.cycles(b, n, true) }},
		{"native.lock.with", "p50 at most 1.1x", func(n int) ([]time.Duration, error) { return ours.cycles(b, n) }},
	})
}

// lockCycles is one implementation of acquiring and releasing a lock. do returns
// how long each cycle took.
type lockCycles struct {
	name, goal string
	do         func(times int) ([]time.Duration, error)
}

// timeCycles lets the contenders run in turn, and compares them with the first
// two.
func (b *bench) timeCycles(contenders []lockCycles) error {
	took := make([][]time.Duration, len(contenders))
	for range cycleRounds {
		for i, c := range contenders {
			more, err := c.do(cycleTurn)
			if err != nil {
				return err
			}
			took[i] = append(took[i], more...)
		}
	}
	for _, t := range took {
		slices.Sort(t)
	}
	var rows [][]string
	for i, c := range contenders {
		row := []string{c.name}
		for _, percent := range []int{50, 99} {
			p := percentile(took[i], percent)
			row = append(row, formatDuration(p))
			for _, first := range took[:2] {
				row = append(row, ratio(p, percentile(first, percent)))
			}
		}
		rows = append(rows, append(row, c.goal))
	}
	b.table([]string{"one cycle", "p50", "of the 1st", "of the 2nd", "p99", "of the 1st", "of the 2nd", "goal"}, rows)
	return nil
}

func (p *process) cycles(ctx context.Context, n int) ([]time.Duration, error) {
	text, err := p.run(ctx, cycleScript, value.Map{"times": float64(n)})
	if err != nil {
		return nil, err
	}
	var took []float64
	err = json.Unmarshal(text, &took)
	return secondsToDurations(took), err
}

// sdkClient is the SDK with its own defaults.
type sdkClient struct{ client *dynamodb.Client }

func newSDKClient(ctx context.Context, endpoint string) (*sdkClient, error) {
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(region),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(secret, secret, "")))
	if err != nil {
		return nil, err
	}
	c.BaseEndpoint = &endpoint
	return &sdkClient{dynamodb.NewFromConfig(c)}, nil
}

// cycles puts and deletes an item like that of a lock, with the conditions of a
// lock if conditional is set.
func (s *sdkClient) cycles(ctx context.Context, n int, conditional bool) ([]time.Duration, error) {
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	num := func(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }
	now := time.Now().UnixMilli()
	key := map[string]types.AttributeValue{"p": str("bench/!locks"), "k": str("bare")}
	owner := strings.Repeat("0", 32)
	put := dynamodb.PutItemInput{TableName: aws.String(tableName), Item: map[string]types.AttributeValue{
		"p": key["p"], "k": key["k"], "owner": str(owner), "start": num(now), "until": num(now + 32_000), "x": num(now/1000 + 86_400),
		"by": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"host_kind": str("bench"), "host_name": str("bench"), "run": str(owner), "script": str("bench.lua"),
		}},
	}}
	del := dynamodb.DeleteItemInput{TableName: put.TableName, Key: key}
	if conditional {
		put.ConditionExpression = aws.String("attribute_not_exists(#p) OR #until <= :now")
		put.ExpressionAttributeNames = map[string]string{"#p": "p", "#until": "until"}
		put.ExpressionAttributeValues = map[string]types.AttributeValue{":now": num(now)}
		put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
		del.ConditionExpression = aws.String("#owner = :me")
		del.ExpressionAttributeNames = map[string]string{"#owner": "owner"}
		del.ExpressionAttributeValues = map[string]types.AttributeValue{":me": str(owner)}
		del.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	took := make([]time.Duration, n)
	for i := range took {
		from := time.Now()
		if _, err := s.client.PutItem(ctx, &put); err != nil {
			return nil, err
		}
		if _, err := s.client.DeleteItem(ctx, &del); err != nil {
			return nil, err
		}
		took[i] = time.Since(from)
	}
	return took, nil
}

// countCycles counts the requests of a process on their way to the emulator.
func (b *bench) countCycles(endpoint string) error {
	counter, counted, end, err := startRequestCounter(endpoint)
	if err != nil {
		return err
	}
	defer end()
	p, err := newProcess(b, counted)
	if err != nil {
		return err
	}
	defer p.store.Close()
	var rows [][]string
	for _, part := range []struct {
		name  string
		times int
		goal  string
	}{{"a process's first", 1, "3"}, {"each of the next 100", 100, "2"}} {
		if _, err := p.cycles(b, part.times); err != nil {
			return err
		}
		all, which := counter.take()
		rows = append(rows, []string{part.name, fmt.Sprint(float64(all) / float64(part.times)), which, part.goal})
	}
	b.table([]string{"uncontended native.lock.with", "requests", "in all", "goal"}, rows)
	return nil
}

// requestCounter is a proxy that counts requests by operation.
type requestCounter struct {
	next http.Handler

	mu    sync.Mutex // guards count
	count map[string]int
}

func startRequestCounter(endpoint string) (c *requestCounter, counted string, end func(), err error) {
	to, err := url.Parse(endpoint)
	if err != nil {
		return nil, "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	c = &requestCounter{next: httputil.NewSingleHostReverseProxy(to), count: map[string]int{}}
	server := &http.Server{Handler: c}
	go server.Serve(l)
	return c, "http://" + l.Addr().String(), func() { server.Close() }, nil
}

func (c *requestCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	c.count[op]++
	c.mu.Unlock()
	c.next.ServeHTTP(w, r)
}

// take returns and resets the counts.
func (c *requestCounter) take() (all int, which string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for op, n := range c.count {
		all += n
		names = append(names, fmt.Sprintf("%d %s", n, op))
	}
	clear(c.count)
	slices.Sort(names)
	return all, strings.Join(names, ", ")
}
