package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Level is how good or bad a [Finding] is.
type Level string

// The levels of findings.
const (
	Fine    Level = "fine"
	Warning Level = "warning" // works, but should be looked at
	Problem Level = "problem" // native.db or native.lock don't work as promised
)

// Finding is the result of one check of a table.
type Finding struct {
	// Check is what was checked: "exists", "keys", "expiry", "billing",
	// "indexes", "regions", "access" or "clock".
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Text is the result, for operators.
	Text string `json:"text"`
}

const (
	// The table's time is derived from this many requests, spread over more than
	// a second: a Date is cut to the second, and the moment at which it changes is
	// more precise than any of them.
	clockReads = 11
	clockPause = 110 * time.Millisecond
)

// CheckTable checks that the table is as native.db and native.lock need it, and
// that its clock is at most maxSkew from this machine's; 0 means
// [lock.DefaultMaxSkew]. It changes nothing. The error is the reason why the table
// could not be checked.
func (s *Store) CheckTable(ctx context.Context, maxSkew time.Duration) ([]Finding, error) {
	table, err := s.describe(ctx)
	if isMissing(err) {
		return []Finding{{"exists", Problem, "there is no such table; tidelock table create makes it"}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", s.table, err)
	}
	attribute, err := s.expiry(ctx)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", s.table, err)
	}
	findings := []Finding{
		findState(table), findKeys(table), findExpiry(attribute), findBilling(table), findIndexes(table), findRegions(table),
	}
	return append(findings, s.findClock(ctx, maxSkew)...), nil
}

func findState(t *types.TableDescription) Finding {
	if !usable(t) {
		return Finding{"exists", Problem, fmt.Sprintf("its state is %s", t.TableStatus)}
	}
	return Finding{"exists", Fine, fmt.Sprintf("its state is %s", t.TableStatus)}
}

func findKeys(t *types.TableDescription) Finding {
	if err := checkKeys(t); err != nil {
		return Finding{"keys", Problem, err.Error() + "; keys can't be changed, make another table"}
	}
	return Finding{"keys", Fine, "p and k"}
}

func findExpiry(attribute string) Finding {
	switch attribute {
	case attrExpires:
		return Finding{"expiry", Fine, "items expire by x"}
	case "":
		return Finding{"expiry", Problem, "items don't expire, the table only grows; tidelock table create sets it"}
	default:
		return Finding{"expiry", Problem, fmt.Sprintf("items expire by %q, want x", attribute)}
	}
}

func findBilling(t *types.TableDescription) Finding {
	if b := t.BillingModeSummary; b == nil || b.BillingMode != types.BillingModePayPerRequest {
		return Finding{"billing", Warning, "capacity is provisioned: scripts are throttled above it"}
	}
	return Finding{"billing", Fine, "by use"}
}

func findIndexes(t *types.TableDescription) Finding {
	if n := len(t.LocalSecondaryIndexes); n > 0 {
		return Finding{"indexes", Warning, fmt.Sprintf("%d local indexes: no partition of a tenant can grow over 10 GB", n)}
	}
	return Finding{"indexes", Fine, "no local ones"}
}

func findRegions(t *types.TableDescription) Finding {
	if len(t.Replicas) == 0 {
		return Finding{"regions", Fine, "one"}
	}
	names := ""
	for _, r := range t.Replicas {
		names += " " + aws.ToString(r.RegionName)
	}
	return Finding{"regions", Problem, "the table has replicas in" + names + ": two regions would give one lock to two holders"}
}

// findClock reads a row that does not exist, which also shows whether data may be
// read.
func (s *Store) findClock(ctx context.Context, maxSkew time.Duration) []Finding {
	var off time.Duration
	clock := lock.NewTableClock(maxSkew, func(d time.Duration) { off = d })
	absent := db.Key{Partition: "!check", Key: "clock"}
	for n := range clockReads {
		if n > 0 && s.clock.Sleep(ctx, clockPause) != nil {
			return []Finding{{"clock", Problem, "interrupted"}}
		}
		result := s.Get(ctx, absent, false)
		if result.Outcome != outcome.Applied {
			return []Finding{{"access", Problem, explain(result.Err)}}
		}
		clock.Observe(result.Attempt)
	}
	now := s.clock.Read()
	table := clock.At(now)
	least, most := now.Wall.Sub(table.Latest), now.Wall.Sub(table.Earliest)
	finding := Finding{"clock", Fine, fmt.Sprintf("this machine's is between %v and %v ahead of the table's", ms(least), ms(most))}
	switch {
	case table.Epoch == 0:
		finding.Level, finding.Text = Problem, "the table's answers have no date: locks can't work"
	case off != 0:
		finding.Level = Warning
	}
	return []Finding{{"access", Fine, "data can be read"}, finding}
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// explain is the text of err, with its cause, which only operators see.
func explain(err error) string {
	var known *outcome.Error
	if errors.As(err, &known) && known.Cause != nil {
		return fmt.Sprintf("%s (%v)", known.Message, known.Cause)
	}
	return err.Error()
}
