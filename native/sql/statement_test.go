package sql

import (
	"testing"
)

func TestKeyword(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1": "select", "  \n\t insert into x": "insert", "(select 1)": "select", ";; update t": "update", "with(x) as": "with",
		"-- one\n-- two\nDELETE": "delete", "/* a */ /* b */commit": "commit", "# mysql\nshow tables": "show",
		"/*! commit */": "", "/*M! commit */": "", "": "", "   ": "", "-- only": "", "/* open": "", "'x'": "", "/": "", "SELECT": "select",
		// Comments for some servers, but not for others.
		"/* /* */ commit -- */ select 1": "", "/* a /* nested */ b */ select": "", "-- x\rcommit /*\nselect 1 */": "",
		"# x\rcommit\nselect 1": "", "-- x\r\nselect 1": "select",
	} {
		if got := Keyword(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
