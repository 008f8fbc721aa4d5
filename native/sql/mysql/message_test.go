package mysql

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// configured matches the names of the connection in the texts below.
var configured = regexp.MustCompile(`\b[DUH]\b`)

// TestShownHasNoNamesOfTheConnection gives the parts of a text that come from the
// connection names that look like the text around them.
func TestShownHasNoNamesOfTheConnection(t *testing.T) {
	names := []string{
		"SECRET", "SECRET.x", "SECRET' doesn't exist", "SECRET`.`y", "SECRET' for column `a` at row 1", "SECRET failed for ", "SECRET, CONSTRAINT `c`", "SECRET does not exist",
		"SECRET\nx", "SECRET; expected 1, got 2", "SECRET' is not of type 'VIEW'",
	}
	for _, text := range []struct {
		number uint16
		text   string // of the server; D is the database, U the user, H the client's host
		want   string
	}{
		{1146, "Table 'D.orders' doesn't exist", "Table 'orders' doesn't exist"},
		{1051, "Unknown table 'D.orders'", "Unknown table 'orders'"},
		{1142, "SELECT command denied to user 'U'@'H' for table `D`.`orders`", "SELECT command denied"},
		{1142, "SELECT, LOCK TABLES command denied to user 'U'@'H' for table 'orders'", "SELECT, LOCK TABLES command denied"},
		{1143, "UPDATE command denied to user 'U'@'H' for column 'c' in table 'orders'", "UPDATE command denied"},
		{1370, "execute command denied to user 'U'@'H' for routine 'D.f'", "execute command denied"},
		{1305, "PROCEDURE D.f does not exist", "PROCEDURE f does not exist"},
		{1318, "Incorrect number of arguments for PROCEDURE D.f; expected 1, got 0", "Incorrect number of arguments for PROCEDURE f; expected 1, got 0"},
		{1366, "Incorrect integer value: 'x' for column `D`.`orders`.`id` at row 1", "Incorrect integer value: 'x' for column `id` at row 1"},
		{1366, "Incorrect integer value: 'x' for column 'id' at row 1", "Incorrect integer value: 'x' for column 'id' at row 1"},
		{1452, "Cannot add or update a child row: a foreign key constraint fails (`D`.`orders`, CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `b` (`c`))",
			"Cannot add or update a child row: a foreign key constraint fails, CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `b` (`c`)"},
		{4025, "CONSTRAINT `c` failed for `D`.`orders`", "CONSTRAINT `c` failed"},
		{1690, "BIGINT UNSIGNED value is out of range in '(`D`.`orders`.`n` - 1)'", "BIGINT UNSIGNED value is out of range"},
		{1347, "'D.orders' is not of type 'VIEW'", "'orders' is not of type 'VIEW'"},
		{1055, "'D.orders.n' isn't in GROUP BY", "'n' isn't in GROUP BY"},
		{1055, "Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'D.orders.n' which is not functionally dependent on columns in GROUP BY clause",
			"Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column"},
		{1064, "You have an error in your SQL syntax; near 'x' at line 1", "You have an error in your SQL syntax; near 'x' at line 1"},
		{1044, "Access denied for user 'U'@'H' to database 'D'", ""},
		{1045, "Access denied for user 'U'@'H' (using password: YES)", ""},
		{1356, "View 'D.v' is broken in words that aren't known", ""},
		{1999, "D or U, who knows", ""},
	} {
		for _, name := range names {
			e := &mysql.MySQLError{Number: text.number, Message: configured.ReplaceAllLiteralString(text.text, name)}
			got := shown(e)
			if strings.Contains(got, "SECRET") {
				t.Errorf("%s\nshows %s", e.Message, got)
			}
			if name == "SECRET" && got != text.want {
				t.Errorf("%s\ngot  %s\nwant %s", e.Message, got, text.want)
			}
		}
	}
}
