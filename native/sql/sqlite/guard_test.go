package sqlite

import "testing"

func TestSeveralStatementsAreFoundWhateverIsQuoted(t *testing.T) {
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

func TestPlaceholdersAreCountedWhereverTheyAre(t *testing.T) {
	for text, want := range map[string]int{
		"SELECT 1": 0, "SELECT ?, (?)": 2, "SELECT '?', \"?\", `?`, [?], ?": 1, "SELECT ? -- ?\n, ? /* ? */": 2, "SELECT 'it''s ?' || ?;": 1,
	} {
		if got, err := placeholders(text); got != want || err != nil {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
}
