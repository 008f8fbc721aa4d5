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

func TestSQLiteAnswersAsMemoryDoes(t *testing.T) {
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

func query(t *testing.T, from *sql.DB, question string) (answer string) {
	t.Helper()
	if err := from.QueryRow(question).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return answer
}

func TestWhatWasWrittenIsThereAfterOpeningAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%41.db")
	clk := dbtest.NewClock()
	store, err := sqlite.Open(path, clock.NewDual(clk), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := dbtest.NewFixture(t, store, clk)
	rev := b.Put("key", value.List{"text", "\xff", value.Null{}})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	b = dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{}), clk)
	b.WantValue("key", value.List{"text", "\xff", value.Null{}})
	if got := b.Get("key").Rev; got != rev {
		t.Errorf("revision is %q, want %q", got, rev)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is not where it was asked for: %v", err)
	}
}

func TestFilesOfOthersAreRefusedAndLeftAlone(t *testing.T) {
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

func TestABusyFileIsWaitedForUntilTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	store := open(t, path, clock.NewDual(clk), sqlite.Options{})
	b := dbtest.NewFixture(t, store, clk)
	b.Put("key", 1.0)

	other := raw(t, path)
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE rows SET r = 'held' WHERE k = 'key'"); err != nil {
		t.Fatal(err)
	}
	b.WantValue("key", 1.0) // reads wait for nobody
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	w := db.Write{Kind: db.Delete, Key: db.Key{Partition: "acme/users", Key: "key"}}
	answer := store.Write(ctx, w, 0)
	if e := b.WantCode(answer.Err, db.CodeContention); answer.Outcome != outcome.NotApplied || !e.Retryable {
		t.Errorf("answered %+v, want not applied, to be tried again", answer.Attempt)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if answer := store.Write(t.Context(), w, 0); answer.Outcome != outcome.Applied {
		t.Errorf("answered %+v once the file is free, want applied", answer.Attempt)
	}
}

func TestExpiredRowsAreRemovedAndTheFileStopsGrowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	b := dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{Relaxed: true}), clk)
	other := raw(t, path)
	var sizes []string
	for round := range 6 {
		for i := range 100 {
			b.PutWith(fmt.Sprint(round, "/", i), strings.Repeat("x", 2000), db.PutOptions{TTL: time.Second})
		}
		b.Clock.Advance(time.Minute)
		b.Put("key", true)
		sizes = append(sizes, query(t, other, "SELECT page_count FROM pragma_page_count"))
	}
	if got := query(t, other, "SELECT count(*) FROM rows"); got != "1" {
		t.Errorf("%s rows are left, want the one that lives", got)
	}
	if sizes[1] != sizes[5] {
		t.Errorf("the file had %v pages after each round, want it to stop growing", sizes)
	}
}

func TestReadersDoNotLetTheLogGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	b := dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{Relaxed: true}), clk)
	for i := range 50 {
		b.Put(fmt.Sprint("row", i), 1.0)
	}
	walk, err := b.Users.Iterate(db.ListOptions{Prefix: "row"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		if i%10 == 0 { // a reader that takes its time
			if _, err := walk.Next(t.Context(), b.Scope); err != nil {
				t.Fatal(err)
			}
		}
		b.Put("large", strings.Repeat("x", 300<<10))
	}
	log, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(20 << 20); log.Size() > most {
		t.Errorf("after writing 117 MiB beside a reader the log has %d bytes", log.Size())
	}
}

func TestAFileLivesInABubbleOfFakeTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		clk := dbtest.NewClock()
		store := open(t, path, clock.NewDual(clk), sqlite.Options{})
		b := dbtest.NewFixture(t, store, clk)
		b.PutWith("key", 1.0, db.PutOptions{TTL: time.Hour})
		time.Sleep(2 * time.Hour)
		b.WantValue("key", nil)
	})
}

func TestADamagedValueIsAnErrorAndNotAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	clk := dbtest.NewClock()
	b := dbtest.NewFixture(t, open(t, path, clock.NewDual(clk), sqlite.Options{}), clk)
	b.Put("key", "text")
	if _, err := raw(t, path).Exec("UPDATE rows SET v = x'9f'"); err != nil {
		t.Fatal(err)
	}
	_, err := b.Users.Get(t.Context(), b.Scope, "key", false)
	if e := b.WantCode(err, db.CodeUnavailable); e.Retryable {
		t.Errorf("error is %+v, want one that is not worth another try", e)
	}
}

func TestAnAnswerToManyKeysEndsAt16MiB(t *testing.T) {
	clk := dbtest.NewClock()
	store := open(t, filepath.Join(t.TempDir(), "test.db"), clock.NewDual(clk), sqlite.Options{Relaxed: true})
	b := dbtest.NewFixture(t, store, clk)
	var keys []db.Key
	for i := range 50 {
		key := fmt.Sprint("key", i)
		b.Put(key, strings.Repeat("x", 370<<10))
		keys = append(keys, db.Key{Partition: "acme/users", Key: key})
	}
	found := store.GetMany(t.Context(), keys, false)
	if len(found.Rows) != 45 || len(found.Unread) != 5 || found.Unread[0] != keys[45] {
		t.Errorf("%d rows of 370 KiB were read and %d left, want 45 and 5", len(found.Rows), len(found.Unread))
	}
}
