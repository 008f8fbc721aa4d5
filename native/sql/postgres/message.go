package postgres

import (
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Some of the server's texts name the user, the database, the address of the
// client or files of the server. So a text is shown to scripts only if the class
// of its SQLSTATE is known to quote nothing but the statement, its values, and
// what they refer to. Nothing is ever searched for the values of the
// configuration: what is shown depends on the text alone.

// quotingClasses are the classes of errors whose texts are shown as they are.
var quotingClasses = []string{
	"02", "03", "09", "0A", "20", "21", "22", "23", "24", "25", "26", "27", "2B", "2D", "2F", "34", "3B", "3F", "40", "42", "44", "54", "55", "P0",
}

// noPermission is the state of errors that may name the database, or a schema
// that is named after the user.
const noPermission = "42501"

// permissions match what is shown of them.
var permissions = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^permission denied for (?:table|relation|sequence|view|materialized view|foreign table|index|column|function|procedure|routine|aggregate|type|domain|language|large object|operator) .*$`),
	regexp.MustCompile(`^permission denied for (?:schema|database)`),
	regexp.MustCompile(`(?s)^must be owner of (?:table|relation|sequence|view|materialized view|index|function|procedure|routine|aggregate|type|domain|trigger|operator) .*$`),
	regexp.MustCompile(`^must be owner of (?:schema|database)`),
	regexp.MustCompile(`(?s)^new row violates row-level security policy .*$`),
}

// parameters matches the text about a wrong number of values.
var parameters = regexp.MustCompile(`^bind message supplies (\d+) parameters, but prepared statement "" requires (\d+)$`)

// shown returns what scripts may see of the text of a statement's error, "" for
// nothing.
func shown(e *pgconn.PgError) string {
	switch {
	case e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC", len(e.Code) != 5:
	case e.Code == protocolError:
		if n := parameters.FindStringSubmatch(e.Message); n != nil {
			return "the statement has " + n[2] + " placeholders, and " + n[1] + " values were given"
		}
	case e.Code == noPermission:
		for _, p := range permissions {
			if text := p.FindString(e.Message); text != "" {
				return text
			}
		}
	case slices.Contains(quotingClasses, e.Code[:2]):
		return e.Message
	}
	return ""
}

// reason returns what scripts may see of an error of any phase, other than its
// state: a text that contains no value.
func reason(state string) string {
	switch state {
	case "28P01":
		return "the user or the password is wrong"
	case "3D000":
		return "there is no such database"
	case "42501":
		return "the user has no permission"
	case "53100":
		return "the server has no disk space left"
	case "53200":
		return "the server has no memory left"
	case "53300":
		return "too many connections are open"
	case "57014":
		return "the statement was cancelled, or took longer than the server allows"
	case "57P01", "57P02", "57P05", "25P03":
		return "the server ends the session"
	case "57P03":
		return "the server is starting or stopping"
	}
	if strings.HasPrefix(state, "28") {
		return "access is denied"
	}
	return ""
}
