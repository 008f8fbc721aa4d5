package db_test

import (
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"
)

func TestRowIsAliveUntilItExpires(t *testing.T) {
	for _, test := range []struct {
		row  *db.Row
		now  int64
		want bool
	}{
		{nil, 100, false},
		{&db.Row{}, 100, true},
		{&db.Row{Expires: 100}, 99, true},
		{&db.Row{Expires: 100}, 100, false},
		{&db.Row{Expires: 100}, 101, false},
	} {
		if got := test.row.Alive(test.now); got != test.want {
			t.Errorf("%+v at %d is alive: %v, want %v", test.row, test.now, got, test.want)
		}
	}
}

func TestExpiryIsRoundedUpToASecond(t *testing.T) {
	for _, test := range []struct {
		millis int64
		ttl    time.Duration
		want   int64
	}{
		{1000_000, time.Second, 1001},
		{1000_001, time.Second, 1002},
		{1000_500, time.Second, 1002},
		{1000_500, 500 * time.Millisecond, 1001},
		{1000_000, time.Nanosecond, 1001},
	} {
		clk := dbtest.NewStoppedClock(time.UnixMilli(test.millis))
		f := dbtest.NewFixture(t, memory.New(clock.NewDual(clk)), clk)
		f.PutWith("key", true, db.PutOptions{TTL: test.ttl})
		if got := f.Get("key").Expires; got != test.want {
			t.Errorf("written at %d ms for %v, a row expires at %d, want %d", test.millis, test.ttl, got, test.want)
		}
	}
}
