package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

func TestSQLiteMatchesMemory(t *testing.T) {
	clk := dbtest.NewStoppedClock(time.Now())
	file := open(t, filepath.Join(t.TempDir(), "test.db"), clock.NewDual(clk), sqlite.Options{Relaxed: true})
	dbtest.Compare(t, clk, file, memory.New(clock.NewDual(clk)))
}

// raw opens the file as another program would.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return other
}

func query(t *testing.T, from *sql.DB, text string) (result string) {
	t.Helper()
	if err := from.QueryRow(text).Scan(&result); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return result
}

func TestWritesSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%41.db")
	clk := dbtest.NewClock()
	store, err := sqlite.Open(path, clock.NewDual(clk), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := dbtest.NewFixture(t, store, clk)
	rev := f.Put("key", value.List{"text", "\xff", value.Null{}})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	f = dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{}), clk)
	f.WantValue("key", value.List{"text", "\xff", value.Null{}})
	if got := f.Get("key").Rev; got != rev {
		t.Errorf("revision is %q, want %q", got, rev)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is not where it was asked for: %v", err)
	}
}

func TestOpenRefusesFilesOfOtherPrograms(t *testing.T) {
	for _, test := range []struct{ name, set, want string }{
		{"foreign table", "CREATE TABLE t (x)", "another program"},
		{"foreign id", "PRAGMA application_id = 7", "another program"},
		{"later layout", "PRAGMA application_id = 0x7469646c; PRAGMA user_version = 99", "layout 99"},
		{"not a database", "", "not a database"},
	} {
		path := filepath.Join(t.TempDir(), "other.db")
		if test.set == "" {
			if err := os.WriteFile(path, []byte(strings.Repeat("text, not SQLite. ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			other := raw(t, path)
			if _, err := other.Exec(test.set); err != nil {
				t.Fatal(err)
			}
			other.Close()
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = sqlite.Open(path, clock.NewDual(clock.System()), sqlite.Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want %q in it", test.name, err, test.want)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file was changed (%v)", test.name, err)
		}
	}
	_, err := sqlite.Open(filepath.Join(t.TempDir(), "no", "such", "folder"), clock.NewDual(clock.System()), sqlite.Options{})
	if err == nil {
		t.Error("a file in a folder that is not there was opened")
	}
}

func TestWriteWaitsForABusyFileUntilTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	store := open(t, path, clock.NewDual(clk), sqlite.Options{})
	f := dbtest.NewFixture(t, store, clk)
	f.Put("key", 1.0)

	other := raw(t, path)
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE rows SET r = 'held' WHERE k = 'key'"); err != nil {
		t.Fatal(err)
	}
	f.WantValue("key", 1.0) // reads don't wait for writes
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	w := db.Write{Kind: db.Delete, Key: db.Key{Partition: "acme/users", Key: "key"}}
	result := store.Write(ctx, w, 0)
	if e := f.WantCode(result.Err, db.CodeContention); result.Outcome != outcome.NotApplied || !e.Retryable {
		t.Errorf("result is %+v, want not applied, to be tried again", result.Attempt)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if result := store.Write(t.Context(), w, 0); result.Outcome != outcome.Applied {
		t.Errorf("result is %+v once the file is free, want applied", result.Attempt)
	}
}

func TestExpiredRowsAreRemovedAndTheFileStopsGrowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	f := dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{Relaxed: true}), clk)
	other := raw(t, path)
	var sizes []string
	for round := range 6 {
		for i := range 100 {
			f.PutWith(fmt.Sprint(round, "/", i), strings.Repeat("x", 2000), db.PutOptions{TTL: time.Second})
		}
		f.Clock.Advance(time.Minute)
		f.Put("key", true)
		sizes = append(sizes, query(t, other, "SELECT page_count FROM pragma_page_count"))
	}
	if got := query(t, other, "SELECT count(*) FROM rows"); got != "1" {
		t.Errorf("%s rows are left, want the one that lives", got)
	}
	if sizes[1] != sizes[5] {
		t.Errorf("the file had %v pages after each round, want it to stop growing", sizes)
	}
}

func TestLogDoesNotGrowBesideAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	f := dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{Relaxed: true}), clk)
	for i := range 50 {
		f.Put(fmt.Sprint("row", i), 1.0)
	}
	iterator, err := f.Users.Iterate(db.ListOptions{Prefix: "row"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		if i%10 == 0 { // a reader that takes its time
			if _, err := iterator.Next(t.Context(), f.Scope); err != nil {
				t.Fatal(err)
			}
		}
		f.Put("large", strings.Repeat("x", 300<<10))
	}
	log, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(20 << 20); log.Size() > most {
		t.Errorf("after writing 117 MiB beside a reader the log has %d bytes", log.Size())
	}
}

func TestFileWorksInFakeTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		clk := dbtest.NewClock()
		store := open(t, path, clock.NewDual(clk), sqlite.Options{})
		f := dbtest.NewFixture(t, store, clk)
		f.PutWith("key", 1.0, db.PutOptions{TTL: time.Hour})
		time.Sleep(2 * time.Hour)
		f.WantValue("key", nil)
	})
}

func TestGetOfADamagedValueIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	f := dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{}), clk)
	f.Put("key", "text")
	if _, err := raw(t, path).Exec("UPDATE rows SET v = x'9f'"); err != nil {
		t.Fatal(err)
	}
	_, err := f.Users.Get(t.Context(), f.Scope, "key", false)
	if e := f.WantCode(err, db.CodeUnavailable); e.Retryable {
		t.Errorf("error is %+v, want one that is not worth another try", e)
	}
}

func TestGetManyEndsAt16MiB(t *testing.T) {
	clk := dbtest.NewClock()
	store := open(t, filepath.Join(t.TempDir(), "test.db"), clock.NewDual(clk), sqlite.Options{Relaxed: true})
	f := dbtest.NewFixture(t, store, clk)
	var keys []db.Key
	for i := range 50 {
		key := fmt.Sprint("key", i)
		f.Put(key, strings.Repeat("x", 370<<10))
		keys = append(keys, db.Key{Partition: "acme/users", Key: key})
	}
	result := store.GetMany(t.Context(), keys, false)
	if len(result.Rows) != 45 || len(result.Unread) != 5 || result.Unread[0] != keys[45] {
		t.Errorf("%d rows of 370 KiB were read and %d left, want 45 and 5", len(result.Rows), len(result.Unread))
	}
}
