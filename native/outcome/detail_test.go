package outcome_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

func TestDetailedShowsEachCauseOnce(t *testing.T) {
	refused := fmt.Errorf("dial tcp 10.0.0.7:8000: %w", syscall.ECONNREFUSED)
	below := &outcome.Error{Code: "db_unavailable", Message: "the table can't be reached", Cause: refused}
	for _, test := range []struct {
		err  error
		want string
	}{
		{refused, "dial tcp 10.0.0.7:8000: connection refused"},
		{below, "db_unavailable: the table can't be reached: dial tcp 10.0.0.7:8000: connection refused"},
		{&outcome.Error{Code: "lock", Message: "no answer", Cause: below},
			"lock: no answer: db_unavailable: the table can't be reached: dial tcp 10.0.0.7:8000: connection refused"},
		{fmt.Errorf("line 3: %w", below), "line 3: db_unavailable: the table can't be reached: dial tcp 10.0.0.7:8000: connection refused"},
		{&outcome.Error{Code: "x", Message: "of " + refused.Error(), Cause: refused}, "x: of dial tcp 10.0.0.7:8000: connection refused"},
	} {
		got := outcome.Detailed(test.err)
		if got.Error() != test.want || !errors.Is(got, test.err) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if outcome.Detailed(nil) != nil {
		t.Error("no error has become one")
	}
}
