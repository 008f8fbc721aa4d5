package sql

import (
	"testing"
)

func TestTimestamp(t *testing.T) {
	for _, test := range []struct {
		text string
		utc  bool
		want string
	}{
		{"2024-05-01 12:34:56", false, "2024-05-01T12:34:56"},
		{"2024-05-01 12:34:56.789", true, "2024-05-01T12:34:56.789Z"},
		{"2024-05-01 12:34:56.5+00", false, "2024-05-01T12:34:56.5Z"},
		{"2024-05-01", true, "2024-05-01"},
		{"infinity", true, "infinity"},
		{"0044-03-15 12:00:00 BC", true, "0044-03-15 12:00:00 BC"},
		{"10000-01-01 00:00:00", true, "10000-01-01 00:00:00"},
		{"", true, ""},
	} {
		if got := Timestamp([]byte(test.text), test.utc); got != Text(test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestDigits(t *testing.T) {
	for text, want := range map[string]any{
		"0": 0.0, "-7": -7.0, "9007199254740992": 9007199254740992.0, "9007199254740993": "9007199254740993",
		"-9007199254740993": "-9007199254740993", "99999999999999999999": "99999999999999999999", "1.5": "1.5",
	} {
		if got := Digits([]byte(text)).Any(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if got := Unsigned(1<<64 - 1); got != Text("18446744073709551615") {
		t.Errorf("got %v", got)
	}
}
