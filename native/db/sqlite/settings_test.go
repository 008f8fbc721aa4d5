package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckSettingsRefusesOtherSettings(t *testing.T) {
	if err := lockByDescription(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ set, want string }{
		{"PRAGMA journal_mode = DELETE", "journal_mode is delete, want wal"},
		{"PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF", "synchronous is 0, want 2"},
		{"PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 5000", "busy_timeout is 5000, want 0"},
		{"PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = -1", "journal_size_limit is -1, want 16777216"},
		{"PRAGMA journal_mode = WAL", ""},
	} {
		db, err := pool(filepath.Join(t.TempDir(), "test.db"), "FULL", "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(test.set); err != nil {
			t.Fatal(err)
		}
		err = checkSettings(t.Context(), db, "FULL")
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("after %s: %v, want %q", test.set, err, test.want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
