package sql_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/sql"
)

func TestScripts(t *testing.T) {
	for name, connection := range places {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, map[string]sql.Connection{"main": connection(t)})
			scripts(t, h, name)
		})
	}
}
