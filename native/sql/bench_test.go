package sql_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/value"
)

// BenchmarkRows reads rows of four columns, b.N of them in one run.
func BenchmarkRows(b *testing.B) {
	h := newHarness(b, map[string]sql.Connection{"main": withoutTLS(toPostgres(b))})
	h.expect(b, "10000", `return native.sql.open("main"):exec([[CREATE TABLE bench AS
		SELECT id::bigint, 'customer ' || id AS customer, (id % 10000)::integer AS cents,
		timestamptz '2026-01-01' + id * interval '1 second' AS at FROM generate_series(1, 10000) AS id]]).affected`)
	for name, loop := range map[string]string{
		"each":  `for row in db:each("SELECT * FROM bench") do n = n + 1 end`,
		"query": `for _, row in ipairs(db:query("SELECT * FROM bench LIMIT 1000")) do n = n + 1 end`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := h.run(b.Context(), "a", `local n, db = 0, native.sql.open("main") while n < (...).rows do `+loop+` end`, value.Map{"rows": float64(b.N)})
			if r.Error != nil {
				b.Fatal(r.Error)
			}
		})
	}
	h.expect(b, "null", `native.sql.open("main"):exec("DROP TABLE bench")`)
}

func withoutTLS(c sql.Connection) sql.Connection {
	c.TLS = sql.TLSOff
	return c
}
