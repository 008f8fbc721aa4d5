package mysql

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Most servers' texts name the user, the client's host and the database of the
// connection somewhere. So a text is shown to scripts only if its number is
// known to quote nothing but the statement, its values, and tables and columns
// without their database, or as far as a pattern of its number shows it. Nothing
// is ever searched for the values of the configuration: what is shown depends on
// the text alone.

// quoting are the numbers of errors whose texts are shown as they are.
var quoting = []uint16{
	1007, 1008, 1020, 1048, 1049, 1050, 1052, 1054, 1056, 1058, 1059, 1060, 1061, 1062, 1063, 1064, 1065, 1066, 1067, 1068, 1069,
	1070, 1071, 1072, 1073, 1074, 1075, 1090, 1091, 1093, 1099, 1100, 1101, 1103, 1110, 1111, 1113, 1114, 1115, 1118, 1120, 1136,
	1137, 1138, 1149, 1153, 1166, 1170, 1176, 1191, 1193, 1205, 1206, 1210, 1213, 1216, 1217, 1221, 1222, 1227, 1230, 1231,
	1232, 1235, 1237, 1238, 1239, 1241, 1242, 1247, 1248, 1250, 1253, 1258, 1262, 1264, 1265, 1267, 1270, 1271, 1273, 1288, 1290,
	1294, 1317, 1327, 1348, 1364, 1365, 1367, 1406, 1411, 1414, 1423, 1425, 1426, 1427, 1439, 1463, 1525, 1526, 1553, 1580, 1582,
	1586, 1614, 1615, 1644, 1701, 1792, 1826, 1901, 1906, 1969, 3024, 3140, 3141, 3572, 3730, 3819, 3948, 4078, 4079, 4161,
}

// patterns are those of texts of which only the groups are shown. What comes
// before a name of the configuration is matched as short as possible, and what
// comes after it as late as possible, so that a group never reaches into it,
// whatever the name looks like.
var patterns = map[uint16][]*regexp.Regexp{
	1005: compile("^(Can't create table ).*\\.(`[^`]*` \\(errno: \\d+[^`]*\\))$"),
	1051: compile(`^(Unknown table ')(?:.*\.)?([^.]*')$`),
	1055: compile(`^(').*\.([^.]*' isn't in GROUP BY)$`,
		`^(Expression #\d+ of [a-zA-Z ]+ is not in GROUP BY clause and contains nonaggregated column) '`),
	1109: compile(`^(Unknown table ')(?:.*\.)?([^.]*' in [^.]*)$`),
	1140: compile(`^(Mixing of GROUP columns .*)$`,
		`^(In aggregated query without GROUP BY, expression #\d+ of [a-zA-Z ]+ contains nonaggregated column) '`),
	1142: compile(`^([A-Za-z, ]*? command denied) to user `),
	1143: compile(`^([A-Za-z, ]*? command denied) to user `),
	1146: compile(`^(Table ').*\.([^.]*' doesn't exist)$`),
	1292: compile(`^(Truncated incorrect [a-zA-Z]+ value: '.*')$`, incorrectValue),
	1305: compile(`^((?:FUNCTION|PROCEDURE) ).*\.([^.]* does not exist)$`),
	1318: compile(`^(Incorrect number of arguments for (?:FUNCTION|PROCEDURE) ).*\.([^.]*; expected \d+, got \d+)$`),
	1347: compile(`^(').*\.([^.]*' is not of type '[A-Z ]+')$`),
	1356: compile(`^(View ').*\.([^.]*' references invalid table\(s\) or column\(s\)[^.]*)$`),
	1366: compile(incorrectValue),
	1370: compile(`^([A-Za-z ]*? command denied) to user `),
	1451: compile(foreignKey),
	1452: compile(foreignKey),
	1630: compile(`^(FUNCTION ).*\.([^.]* does not exist)\. Check the`),
	1690: compile(`^([A-Z ]+ value is out of range) in `),
	4025: compile("^(CONSTRAINT `.*?` failed) for "),
}

const (
	incorrectValue = "^(Incorrect [a-zA-Z]+ value: '.*?' for column )(?:.*\\.)?([`'][^`'.]*[`'] at row \\d+)$"
	foreignKey     = `^(Cannot (?:add or update a child|delete or update a parent) row: a foreign key constraint fails) \(.*(, CONSTRAINT .*)\)$`
)

func compile(patterns ...string) (compiled []*regexp.Regexp) {
	for _, p := range patterns {
		compiled = append(compiled, regexp.MustCompile("(?s)"+p))
	}
	return compiled
}

// shown returns what scripts may see of the text of a statement's error, "" for
// nothing.
func shown(e *mysql.MySQLError) string {
	if slices.Contains(quoting, e.Number) {
		return e.Message
	}
	for _, p := range patterns[e.Number] {
		if groups := p.FindStringSubmatch(e.Message); groups != nil {
			return strings.Join(groups[1:], "")
		}
	}
	return ""
}

// reason returns what scripts may see of an error of any phase, other than its
// number: a text that contains no value.
func reason(number uint16) string {
	switch number {
	case 1044:
		return "the user has no access to the database"
	case 1045, 1698:
		return "access is denied"
	case 1049:
		return "there is no such database"
	case 1129, 1130:
		return "it accepts no client from this address"
	case 3118, 4151:
		return "the account is locked"
	case 1820, 1862:
		return "the password has expired"
	case 1040, 1203, 1226:
		return "too many connections are open"
	case 1053, 1927, 3169, 4031:
		return "the server ends the session"
	}
	return ""
}
