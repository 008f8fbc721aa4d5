package sqlite

import "testing"

func TestPlaceholdersRefusesSeveralStatements(t *testing.T) {
	for text, several := range map[string]bool{
		"SELECT 1":                               false,
		"SELECT 1;":                              false,
		"SELECT 1; ; \n-- end; of it\n/* ; x */": false,
		"SELECT ';', \";\", `;`, [;]":            false,
		"SELECT 'it''s; one'":                    false,
		"SELECT 1 -- a ; b":                      false,
		"SELECT 1 /* ; */ + 1":                   false,
		"SELECT 'open ; SELECT 2":                false,
		"SELECT 1; SELECT 2":                     true,
		"SELECT 1;SELECT 2":                      true,
		"SELECT 1 /* ; */; SELECT 2":             true,
		"SELECT 'a'; DELETE FROM t":              true,
		"SELECT 'a''b'; DELETE FROM t":           true,
		"-- a\nSELECT 1; x":                      true,
		"/**/ SELECT 1; x":                       true,
		"/*/ ; */ SELECT 1":                      false,
		"SELECT 1;\x0bSELECT 2":                  true,
	} {
		if _, err := placeholders(text); (err != nil) != several {
			t.Errorf("%q: got %v, want %v", text, err, several)
		}
	}
}

func TestPlaceholdersCounts(t *testing.T) {
	for text, want := range map[string]int{
		"SELECT 1": 0, "SELECT ?, (?)": 2, "SELECT '?', \"?\", `?`, [?], ?": 1, "SELECT ? -- ?\n, ? /* ? */": 2, "SELECT 'it''s ?' || ?;": 1,
		"SELECT $1, $2": 2, "SELECT $2, $1, $2": 2, "SELECT ?3": 3, "SELECT ?2, ?": 3, "SELECT a$1, _$2, é$3, 1": 0, "SELECT x'00', $1": 1,
		"SELECT :name, @name, $name": 0, "SELECT $99999999999999999999": 0,
	} {
		if got, err := placeholders(text); got != want || err != nil {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
}
