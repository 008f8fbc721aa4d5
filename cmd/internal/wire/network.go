package wire

import (
	"errors"
	"net/netip"
	"os"
	"syscall"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/tenant"
)

// platformInterfaces are the variables that name endpoints of the platform.
// Those give out credentials, or other tenants' events.
var platformInterfaces = []string{
	"AWS_LAMBDA_RUNTIME_API", "ECS_AGENT_URI", "ECS_CONTAINER_METADATA_URI", "ECS_CONTAINER_METADATA_URI_V4",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI",
}

// openHTTP makes the client of native.http.
func (c Config) openHTTP(current func() *config.Config) (*http.Client, error) {
	blocked := c.Listeners
	for _, name := range platformInterfaces {
		if place := os.Getenv(name); place != "" {
			blocked = append(blocked, place)
		}
	}
	return http.New(http.Options{
		Policy:  func(id tenant.ID) http.Policy { return http.Policy{Allow: current().Allow(id)} },
		Blocked: blocked,
		Events:  http.Events{Blocked: c.Observers.Blocked},
	})
}

// openSQL makes the databases of native.sql.
func (c Config) openSQL(clk *clock.Dual, current func() *config.Config) *sql.DB {
	return sql.New(sql.Options{
		Clock: clk, Drivers: c.SQLDrivers, Control: blockPlatform,
		Connections: func(id tenant.ID) map[string]sql.Connection {
			all := map[string]sql.Connection{}
			for name, s := range current().Connections(id) {
				all[name] = sqlConnection(s)
			}
			return all
		},
		Failed: func(id tenant.ID, e *outcome.Error) {
			c.Log.Warn("a database has failed", zap.String("tenantId", string(id)), zap.String("connection", e.Key),
				zap.String("code", e.Code), zap.String("message", e.Message), zap.NamedError("cause", e.Cause))
		},
	})
}

func sqlConnection(s config.SQL) sql.Connection {
	return sql.Connection{
		Driver: s.Driver, Host: s.Host, Port: int(s.Port), User: s.User, Database: s.Database, Password: s.Password.Resolve,
		TLS: s.TLS, File: s.File, MaxOpen: int(s.MaxOpen), ReadOnly: s.ReadOnly,
	}
}

// blockPlatform refuses the addresses at which platforms serve metadata and
// credentials. It allows private addresses and sockets, at which operators have
// their databases.
func blockPlatform(network, address string, _ syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if ip.IsLinkLocalUnicast() || ip == metadataIPv6 {
		return errors.New("the address belongs to the platform")
	}
	return nil
}

var metadataIPv6 = netip.MustParseAddr("fd00:ec2::254")
