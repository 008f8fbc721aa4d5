package dynamo_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
)

func testTables(t *testing.T, l *local) {
	t.Run("creating a table again changes nothing", func(t *testing.T) { createAgain(t, l) })
	t.Run("a table created by several at once is created once", func(t *testing.T) { createTogether(t, l) })
	t.Run("a new table passes its check", func(t *testing.T) { checkNew(t, l) })
	t.Run("a table that is missing is a finding", func(t *testing.T) { checkMissing(t, l) })
	t.Run("a table of another program is refused", func(t *testing.T) { foreignTable(t, l) })
	t.Run("a clock that is off is a finding", func(t *testing.T) { checkClock(t, l) })
}

func createAgain(t *testing.T, l *local) {
	s := l.create(t, systemClock())
	if a := write(t, s); a.Err != nil {
		t.Fatal(a.Err)
	}
	if created, err := s.CreateTable(t.Context()); created || err != nil {
		t.Errorf("create = %v, %v; want false", created, err)
	}
	if row := s.Get(t.Context(), key, false).Row; row == nil {
		t.Error("the row is gone")
	}
}

func createTogether(t *testing.T, l *local) {
	o := l.options()
	var made, failed sync.Map
	var wg sync.WaitGroup
	for i := range 4 {
		s := open(t, systemClock(), o)
		wg.Go(func() {
			created, err := s.CreateTable(t.Context())
			if created {
				made.Store(i, true)
			}
			if err != nil {
				failed.Store(i, err)
			}
		})
	}
	wg.Wait()
	n := 0
	made.Range(func(any, any) bool { n++; return true })
	failed.Range(func(_, err any) bool { t.Error(err); return true })
	if n != 1 {
		t.Errorf("%d say that they have created the table, want 1", n)
	}
}

// check returns the findings by what was checked.
func check(t *testing.T, s *dynamo.Store) map[string]dynamo.Finding {
	t.Helper()
	found, err := s.CheckTable(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	byCheck := map[string]dynamo.Finding{}
	for _, f := range found {
		byCheck[f.Check] = f
	}
	return byCheck
}

func wantFinding(t *testing.T, found map[string]dynamo.Finding, name string, level dynamo.Level, text string) {
	t.Helper()
	if f := found[name]; f.Level != level || !strings.Contains(f.Text, text) {
		t.Errorf("%s is found %s: %q, want %s with %q", name, f.Level, f.Text, level, text)
	}
}

func checkNew(t *testing.T, l *local) {
	found := check(t, l.create(t, systemClock()))
	for _, name := range []string{"exists", "keys", "expiry", "billing", "indexes", "regions", "access", "clock"} {
		wantFinding(t, found, name, dynamo.Fine, "")
	}
}

func checkMissing(t *testing.T, l *local) {
	found := check(t, l.open(t, systemClock()))
	wantFinding(t, found, "exists", dynamo.Problem, "no such table")
	if len(found) != 1 {
		t.Errorf("found %v, want nothing else", found)
	}
}

func checkClock(t *testing.T, l *local) {
	clk := dbtest.NewClock()
	clk.Advance(-time.Minute)
	found := check(t, l.create(t, clock.NewDual(clk)))
	wantFinding(t, found, "clock", dynamo.Warning, "between -1m")
}

// foreignTable makes a table with other keys, another expiry and provisioned
// capacity.
func foreignTable(t *testing.T, l *local) {
	o := l.options()
	c, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(o.Region), config.WithCredentialsProvider(o.Credentials))
	if err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(c, func(c *dynamodb.Options) { c.BaseEndpoint = &o.Endpoint })
	if _, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:             &o.Table,
		AttributeDefinitions:  []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeN}},
		KeySchema:             []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &o.Table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("gone"), Enabled: aws.Bool(true)},
	}); err != nil {
		t.Fatal(err)
	}
	s := open(t, systemClock(), o)
	found := check(t, s)
	wantFinding(t, found, "keys", dynamo.Problem, "HASH id (N)")
	wantFinding(t, found, "expiry", dynamo.Problem, `"gone"`)
	wantFinding(t, found, "billing", dynamo.Warning, "provisioned")
	wantFinding(t, found, "access", dynamo.Problem, "turned the request down")
	if _, err := s.CreateTable(t.Context()); err == nil || !strings.Contains(err.Error(), "its keys are HASH id (N)") {
		t.Errorf("create: %v, want an error about the keys", err)
	}
}

func TestCheckTableFindsWhatTheEmulatorLacks(t *testing.T) {
	const keys = `"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"k","KeyType":"RANGE"}],` +
		`"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"p","AttributeType":"S"}]`
	for _, test := range []struct {
		fields, ttl string
		name        string
		level       dynamo.Level
		text        string
	}{
		{`"Replicas":[{"RegionName":"us-east-1"}]`, "ENABLED", "regions", dynamo.Problem, "us-east-1"},
		{`"LocalSecondaryIndexes":[{"IndexName":"i"}]`, "ENABLED", "indexes", dynamo.Warning, "10 GB"},
		{`"TableSizeBytes":0`, "DISABLED", "expiry", dynamo.Problem, "grows"},
		{`"TableSizeBytes":0`, "ENABLING", "expiry", dynamo.Fine, ""},
		{`"TableStatus":"ARCHIVED"`, "ENABLED", "exists", dynamo.Problem, "ARCHIVED"},
	} {
		service := newFake(t)
		service.answerTo = func(_ int, r request) answer {
			switch r.op {
			case "DescribeTable":
				return answer{status: 200, body: fmt.Sprintf(`{"Table":{"TableName":"test","TableStatus":"ACTIVE",%s,%s}}`, keys, test.fields)}
			case "DescribeTimeToLive":
				return answer{status: 200, body: fmt.Sprintf(`{"TimeToLiveDescription":{"AttributeName":"x","TimeToLiveStatus":%q}}`, test.ttl)}
			default:
				return failure(400, "AccessDeniedException")
			}
		}
		found := check(t, service.open(t))
		wantFinding(t, found, test.name, test.level, test.text)
		wantFinding(t, found, "access", dynamo.Problem, "denied")
	}
}
