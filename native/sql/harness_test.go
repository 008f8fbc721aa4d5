package sql_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	dbmemory "github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/module/logmodule"
	"github.com/tidelock-lua/tidelock/native/module/sqlmodule"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/sql/mysql"
	"github.com/tidelock-lua/tidelock/native/sql/postgres"
	"github.com/tidelock-lua/tidelock/native/sql/sqlite"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
	mariadbserver "github.com/tidelock-lua/tidelock/test/mariadb"
	postgresserver "github.com/tidelock-lua/tidelock/test/postgres"
)

// password has characters that break parsers, shells and quoting.
const password = `p%41 @^'"\y:/?#z`

// The servers of all tests of this package, started by the first that needs one.
var (
	thePostgres = sync.OnceValues(func() (*postgresserver.Server, error) {
		s, err := postgresserver.Start(password)
		if err == nil {
			stops = append(stops, s.Stop)
		}
		return s, err
	})
	theMariaDB = sync.OnceValues(func() (*mariadbserver.Server, error) {
		s, err := mariadbserver.Start(password)
		if err == nil {
			stops = append(stops, s.Stop)
		}
		return s, err
	})
	stops []func()
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range stops {
		stop()
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func drivers() map[string]sql.Driver {
	return map[string]sql.Driver{"postgres": postgres.New(), "mysql": mysql.New(), "sqlite": sqlite.New()}
}

func passwordOf(s string) func() (string, error) { return func() (string, error) { return s, nil } }

// toPostgres is a connection with the real server.
func toPostgres(t testing.TB) sql.Connection {
	t.Helper()
	s, err := thePostgres()
	if err != nil {
		t.Fatal(err)
	}
	return sql.Connection{
		Driver: "postgres", Host: "127.0.0.1", Port: s.Port, User: postgresserver.User, Database: postgresserver.Database,
		Password: passwordOf(password), RootCAs: s.RootCAs,
	}
}

// toMariaDB is a connection with the real server.
func toMariaDB(t testing.TB) sql.Connection {
	t.Helper()
	s, err := theMariaDB()
	if err != nil {
		t.Fatal(err)
	}
	return sql.Connection{
		Driver: "mysql", Host: "127.0.0.1", Port: s.Port, User: mariadbserver.User, Database: mariadbserver.Database,
		Password: passwordOf(password), RootCAs: s.RootCAs,
	}
}

// toFile is a new, empty file.
func toFile(t testing.TB) sql.Connection {
	return sql.Connection{Driver: "sqlite", File: filepath.Join(t.TempDir(), "test 100%?#.db")}
}

// databases are the databases that every test runs with.
var databases = map[string]func(testing.TB) sql.Connection{"postgres": toPostgres, "mysql": toMariaDB, "sqlite": toFile}

// servers are those of them that have a network.
var servers = map[string]func(testing.TB) sql.Connection{"postgres": toPostgres, "mysql": toMariaDB}

// harness runs scripts that can open the connections.
type harness struct {
	*runtime.Engine
	db       *sql.DB
	clock    *clock.Dual
	table    *dbmemory.Store
	log      *nativetest.Log
	released atomic.Pointer[lock.ReleaseEvent] // of the last lock
	// onStall is native.test.stall.
	onStall atomic.Pointer[func()]
}

// jumpingClock is a clock that can be put forward.
type jumpingClock struct {
	clock.Clock
	by atomic.Int64
}

func (c *jumpingClock) Now() clock.Instant {
	now, by := c.Clock.Now(), time.Duration(c.by.Load())
	now.Wall = now.Wall.Add(by)
	now.Mono += by
	return now
}

func (c *jumpingClock) jump(by time.Duration) { c.by.Add(int64(by)) }

// newHarness returns a harness whose connections every tenant has; change changes
// the options.
func newHarness(t testing.TB, connections map[string]sql.Connection, change ...func(*sql.Options)) *harness {
	t.Helper()
	o := sql.Options{
		Clock: clock.NewDual(clock.System()), Drivers: drivers(),
		Connections: func(tenant.ID) map[string]sql.Connection { return connections },
	}
	for _, f := range change {
		f(&o)
	}
	clk := o.Clock
	h := &harness{db: sql.New(o), clock: clk, table: dbmemory.New(clk), log: &nativetest.Log{}}
	locks, err := lock.New(clk, h.table, lock.MachineClock{}, lock.Options{Events: lock.Events{
		Release: func(r lock.ReleaseEvent) { h.released.Store(&r) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.Engine = runtime.New(runtime.Config{
		Clock: clk, HostKind: "test", HostName: "testhost",
		Modules: []native.Module{
			coremodule.New(), deadlinemodule.New(), jsonmodule.New(), logmodule.New(), lockmodule.New(locks, lockmodule.Options{}), sqlmodule.New(h.db),
			{Name: "test", Funcs: []native.Func{{Name: "stall", Do: func(*native.Call) error { (*h.onStall.Load())(); return nil }}}},
		},
	})
	t.Cleanup(func() {
		if err := h.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// run runs a script of a tenant.
func (h *harness) run(ctx context.Context, id tenant.ID, source string, event any) *runtime.Result {
	return h.Run(ctx, runtime.Invocation{
		Tenant: id, Script: "test.lua", Source: source, Event: event, Log: h.log,
		Limits: tenant.Limits{Timeout: time.Minute},
	})
}

// expect runs a script of tenant "a" and compares its result, as JSON, with
// want.
func (h *harness) expect(t testing.TB, want, source string) {
	t.Helper()
	r := h.run(t.Context(), "a", source, nil)
	for _, incident := range r.Incidents {
		t.Error(incident)
	}
	if r.Error != nil {
		t.Errorf("%v\n%s", r.Error, source)
	} else if string(r.JSON) != want {
		t.Errorf("got %s, want %s\n%s", r.JSON, want, source)
	}
}

// scripts runs each testdata/*.lua.
func scripts(t *testing.T, h *harness, driver string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata/*.lua: %v", err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".lua"), func(t *testing.T) {
			r := h.run(t.Context(), "a", string(source), value.Map{"driver": driver})
			if r.Error != nil {
				t.Errorf("%v\n%+v\n%s", r.Error, r.Error.Stack, h.log)
			}
			for _, incident := range r.Incidents {
				t.Error(incident)
			}
		})
	}
}
