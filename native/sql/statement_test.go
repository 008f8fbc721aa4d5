package sql

import (
	"strings"
	"testing"
)

func TestTheVerbIsFoundBehindCommentsAndParentheses(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1": "select", "  \n\t insert into x": "insert", "(select 1)": "select", ";; update t": "update", "with(x) as": "with",
		"-- one\n-- two\nDELETE": "delete", "/* a */ /* b */commit": "commit", "# mysql\nshow tables": "show",
		"/*! commit */": "", "/*M! commit */": "", "": "", "   ": "", "-- only": "", "/* open": "", "'x'": "", "/": "", "SELECT": "select",
		// What some servers take for a comment, and others don't.
		"/* /* */ commit -- */ select 1": "", "/* a /* nested */ b */ select": "", "-- x\rcommit /*\nselect 1 */": "",
		"# x\rcommit\nselect 1": "", "-- x\r\nselect 1": "select",
	} {
		if got := Verb(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMomentsAreInTheFormOfRFC3339(t *testing.T) {
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

func TestWholeNumbersAreNumbersWhileTheyAreExact(t *testing.T) {
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

func TestMessagesHaveNeitherSecretsNorAddresses(t *testing.T) {
	var r redactor
	r.learn(`p%41 @^'"\y`)
	r.learn("")
	for text, want := range map[string]string{
		`password "p%41 @^'"\y" is wrong`:                     `password "***" is wrong`,
		`postgres://u:p%2541%20%40%5E%27%22%5Cy@host/db`:      `postgres://u:***@host/db`,
		`{"password":"p%41 @^'\"\\y"}`:                        `{"password":"***"}`,
		"cCU0MSBAXiciXHk=":                                    "***",
		`'p%41 @^''"\y'`:                                      `'***'`,
		`Access denied for user 'u'@'172.17.0.1' (using YES)`: `Access denied for user 'u'@'(address)' (using YES)`,
		"dial tcp 10.0.0.1:5432: refused":                     "dial tcp (address): refused",
		"host [fe80::1:2:3]:5432 and 2001:db8::8a2e:370:7334": "host (address) and (address)",
		"line\none\x00\x1b[31m":                               "line one  [31m",
		"version 1.2.3, at 12:00:00, x::int, 2024-05-01":      "version 1.2.3, at 12:00:00, x::int, 2024-05-01",
		"\xff": "\uFFFD",
	} {
		if got := r.message(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := r.message(strings.Repeat("é", 2000)); len(got) > messageMax+3 {
		t.Errorf("got %d bytes", len(got))
	}
}
