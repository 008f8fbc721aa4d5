package wire

import (
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/sql/postgres"
)

// TestFailedDatabaseIsLogged looks for what scripts don't see in the log of the
// host.
func TestFailedDatabaseIsLogged(t *testing.T) {
	core, log := observer.New(zap.WarnLevel)
	c := Config{
		Config: &config.Config{SQL: map[string]config.SQL{"main": {Driver: "postgres", Host: "127.0.0.1", Port: 1, User: "u", Database: "d"}}},
		Log:    zap.New(core), SQLDrivers: map[string]sql.Driver{"postgres": postgres.New()},
	}
	db := c.openSQL(clock.NewDual(clock.System()), func() *config.Config { return c.Config })
	defer db.Close()
	conn, err := db.Open("acme", "main", sql.NewOpenRows())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), sql.Statement{Text: "DELETE FROM t"})
	if err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("got %v, want an error without the address", err)
	}
	records := log.All()
	if len(records) != 1 {
		t.Fatalf("got %d records, want 1", len(records))
	}
	fields := records[0].ContextMap()
	if cause, _ := fields["cause"].(string); fields["tenantId"] != "acme" || fields["connection"] != "main" || !strings.Contains(cause, "127.0.0.1:1") {
		t.Errorf("got %v", fields)
	}
}
