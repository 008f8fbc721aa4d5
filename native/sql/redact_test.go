package sql

import (
	"strings"
	"testing"
)

func TestRedactorMessage(t *testing.T) {
	var r redactor
	r.add(`p%41 @^'"\y`)
	r.add("")
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
