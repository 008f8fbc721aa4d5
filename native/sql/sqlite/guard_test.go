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
		if got := single(text) != nil; got != several {
			t.Errorf("%q: got %v, want %v", text, got, several)
		}
	}
}
