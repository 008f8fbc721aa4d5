package db_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/db"
)

func TestARowLivesUntilTheSecondItExpires(t *testing.T) {
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
