// Package sqlite is the embedded engine of native.db: one file, which any
// number of processes of a machine use at once. SQLite is compiled to Go.
//
// A write that was answered is on the disk: it survives a kill of the process, a
// crash of the machine and a loss of power. One process writes at a time, for about
// as long as the disk takes to flush. Reads don't wait for writes.
//
// The file must be on a local disk: network file systems have neither the locks nor
// the shared memory that SQLite needs, and are refused. Beside the file SQLite
// keeps two others, with "-wal" and "-shm" appended to the name; they belong
// together.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tidelock-lua/tidelock/native/clock"
)

const (
	// openTime is how long opening waits for other processes that are
	// creating or closing the file.
	openTime = 10 * time.Second
	// readers is how many reads can run at once in this process.
	readers = 4
	// walBytesMax is how much of the log is kept between two writes; a longer one
	// is truncated.
	walBytesMax = 16 << 20
	// The pause before a busy file is tried again is random between these two.
	// SQLite's own pauses grow up to 100 ms, so a process that writes all the time
	// starves the others. These are fair, and end with the caller's context.
	busyPauseMin = 200 * time.Microsecond
	busyPauseMax = 2 * time.Millisecond
)

const (
	// applicationID marks our files in SQLite's header: "tidl".
	applicationID = 0x7469646c
	// schemaVersion is the layout below.
	schemaVersion = 1
)

// schema is an ordinary table with a unique index. A table without rowid, which is
// its own index, would be slow, because a row may have hundreds of KB. The index
// over x has only the rows that expire.
const schema = `
CREATE TABLE rows (
	p TEXT NOT NULL, -- "<tenant>/<partition>"
	k TEXT NOT NULL, -- key
	v BLOB,          -- value as CBOR (RFC 8949)
	r TEXT NOT NULL, -- revision
	x INTEGER        -- expiry in seconds since 1970
) STRICT;
CREATE UNIQUE INDEX rows_key ON rows (p, k);
CREATE INDEX rows_expiry ON rows (x) WHERE x IS NOT NULL;
`

// Options of a file. The zero value is the default.
type Options struct {
	// Relaxed leaves out the disk flush of each write, which makes it about ten
	// times faster. A crash of the machine may then lose the latest writes; a crash
	// of the process does not. By default every answered write is on the disk.
	Relaxed bool
}

// Store is an open file. It is safe for concurrent use.
type Store struct {
	clock   *clock.Dual
	writer  *sql.DB // one connection, which the writes of the process queue for
	reader  *sql.DB
	stmts   statements
	sweeper sweeper
}

// Open opens the file at path, and creates it if there is none. clk timestamps the
// attempts and measures the pauses.
func Open(path string, clk *clock.Dual, o Options) (*Store, error) {
	if err := lockByDescription(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	s := &Store{clock: clk}
	if err := s.open(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.Close())
	}
	return s, nil
}

// lockByDescription makes SQLite use locks of open file descriptions. With POSIX
// locks, closing any descriptor of a file releases all locks of the process.
func lockByDescription() error {
	_, err := sqlite.OFDLocking(true)
	if errors.Is(err, sqlite.ErrOFDLockingUnavailable) {
		return nil // not available on this system
	}
	return err
}

func (s *Store) open(ctx context.Context, path string, o Options) (err error) {
	synchronous := "FULL"
	if o.Relaxed {
		synchronous = "NORMAL"
	}
	if s.writer, err = pool(path, synchronous, "", 1); err != nil {
		return err
	}
	if s.reader, err = pool(path, synchronous, "&_query_only=1", readers); err != nil {
		return err
	}
	if err = s.wait(ctx, func() error { return prepareFile(ctx, s.writer) }); err != nil {
		return err
	}
	for _, db := range []*sql.DB{s.writer, s.reader} {
		if err = s.wait(ctx, func() error { return checkSettings(ctx, db, synchronous) }); err != nil {
			return err
		}
	}
	return s.wait(ctx, func() error { return s.stmts.prepare(ctx, s.writer, s.reader) })
}

// pool makes a pool of connections that stay open.
func pool(path, synchronous, more string, connections int) (*sql.DB, error) {
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	connector, err := sqlite.NewConnector(fmt.Sprintf(
		"file:%s?_txlock=immediate&_busy_timeout=0&_synchronous=%s&_pragma=journal_size_limit(%d)%s",
		name, synchronous, walBytesMax, more))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// prepareFile lays out the file if it is empty, and refuses it, unchanged, if it
// belongs to another program.
func prepareFile(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var id, version, tables int
	const header = "SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)"
	if err := conn.QueryRowContext(ctx, header).Scan(&id, &version, &tables); err != nil {
		return err
	}
	isEmpty := id == 0 && version == 0 && tables == 0
	switch {
	case !isEmpty && id != applicationID:
		return errors.New("the file is a database of another program")
	case !isEmpty && version != schemaVersion:
		return fmt.Errorf("the file has layout %d, and this program knows layout %d", version, schemaVersion)
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil || !isEmpty {
		return err
	}
	return createTable(ctx, conn)
}

// createTable lays out an empty file, unless another process has just done so.
func createTable(ctx context.Context, conn *sql.Conn) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var tables int
	if err := tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables > 0 {
		return err
	}
	layout := fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d", schema, applicationID, schemaVersion)
	if _, err := tx.Exec(layout); err != nil {
		return err
	}
	return tx.Commit()
}

// checkSettings reads back the settings that the guarantees of this engine depend
// on. SQLite ignores settings that it doesn't know, and keeps the old journal mode
// if the file system has no shared memory.
func checkSettings(ctx context.Context, db *sql.DB, synchronous string) error {
	level := map[string]string{"NORMAL": "1", "FULL": "2"}[synchronous]
	for _, setting := range []struct{ name, want string }{
		{"journal_mode", "wal"},
		{"synchronous", level},
		{"busy_timeout", "0"},
		{"journal_size_limit", fmt.Sprint(walBytesMax)},
	} {
		var got string
		if err := db.QueryRowContext(ctx, "PRAGMA "+setting.name).Scan(&got); err != nil {
			return err
		}
		if got != setting.want {
			return fmt.Errorf("%s is %s, want %s (is the file on a network file system?)", setting.name, got, setting.want)
		}
	}
	return nil
}

// Close closes the file. No call may be in progress.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// wait calls try until the file isn't busy, or ctx ends.
func (s *Store) wait(ctx context.Context, try func() error) error {
	for {
		err := try()
		if !isBusy(err) {
			return err
		}
		if err := s.clock.Sleep(ctx, busyPauseMin+rand.N(busyPauseMax-busyPauseMin)); err != nil {
			return err
		}
	}
}

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
