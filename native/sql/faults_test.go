package sql_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// framing splits a server's answer into its messages.
type framing struct {
	header int
	// body returns the length of the body after a header.
	body func(header []byte) int
	// resize sets the length in a header.
	resize func(header []byte, body int)
}

var framings = map[string]framing{
	"postgres": {5, func(h []byte) int { return int(binary.BigEndian.Uint32(h[1:])) - 4 }, func(h []byte, n int) { binary.BigEndian.PutUint32(h[1:], uint32(n+4)) }},
	"mysql":    {4, func(h []byte) int { return int(h[0]) | int(h[1])<<8 | int(h[2])<<16 }, func(h []byte, n int) { h[0], h[1], h[2] = byte(n), byte(n>>8), byte(n>>16) }},
}

// answerFaults are what may happen to a message of an answer. Each returns what
// is sent instead of it, and whether the connection ends then.
var answerFaults = map[string]func(f framing, message []byte) (changed []byte, cut bool){
	"cut before": func(framing, []byte) ([]byte, bool) { return nil, true },
	"cut header": func(f framing, m []byte) ([]byte, bool) { return m[:f.header-1], true },
	"cut body":   func(f framing, m []byte) ([]byte, bool) { return m[:(f.header+len(m))/2], true },
	"cut after":  func(f framing, m []byte) ([]byte, bool) { return m, true },
	"lost":       func(framing, []byte) ([]byte, bool) { return nil, false },
	"twice":      func(_ framing, m []byte) ([]byte, bool) { return append(bytes.Clone(m), m...), false },
	"short by 1": func(f framing, m []byte) ([]byte, bool) { return shorter(f, m, 1), false },
	"short by 2": func(f framing, m []byte) ([]byte, bool) { return shorter(f, m, 2), false },
	"empty":      func(f framing, m []byte) ([]byte, bool) { return shorter(f, m, len(m)-f.header), false },
	"one byte":   func(f framing, m []byte) ([]byte, bool) { return shorter(f, m, len(m)-f.header-1), false },
	"zeros":      func(f framing, m []byte) ([]byte, bool) { return filled(f, m, 0), false },
	"ones":       func(f framing, m []byte) ([]byte, bool) { return filled(f, m, 0xff), false },
	"a page": func(framing, []byte) ([]byte, bool) {
		return []byte("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"), true
	},
	"a void page": func(framing, []byte) ([]byte, bool) { return bytes.Repeat([]byte{0}, 100), true },
}

func shorter(f framing, message []byte, by int) []byte {
	by = min(by, len(message)-f.header)
	out := bytes.Clone(message[:len(message)-by])
	f.resize(out, len(out)-f.header)
	return out
}

func filled(f framing, message []byte, b byte) []byte {
	return append(bytes.Clone(message[:f.header]), bytes.Repeat([]byte{b}, len(message)-f.header)...)
}

// nthMessage returns what [proxy.spoil] takes, and whether there was such a
// message.
func nthMessage(f framing, n int, fault func(framing, []byte) ([]byte, bool)) (spoil func([]byte) ([]byte, bool), met *bool) {
	var rest []byte
	met = new(bool)
	return func(answer []byte) (out []byte, cut bool) {
		if *met && len(rest) == 0 {
			return answer, false // also of connections that are made later
		}
		rest = append(rest, answer...)
		for !cut && len(rest) >= f.header && len(rest) >= f.header+f.body(rest) {
			message := rest[:f.header+f.body(rest)]
			rest = rest[len(message):]
			changed := message
			if n == 0 {
				*met = true
				changed, cut = fault(f, message)
			}
			n--
			out = append(out, changed...)
		}
		return out, cut
	}, met
}

// faultOp is something that a script does while the answers are spoiled.
type faultOp struct {
	name   string
	script string // spoil() begins the fault
	writes bool
}

func faultOps(driver string) []faultOp {
	one, returning := "?", "INSERT INTO faults VALUES (2) RETURNING x"
	if driver == "postgres" {
		one = "$1"
	}
	return []faultOp{
		{"query", `spoil() return db:query("SELECT x FROM three ORDER BY x")`, false},
		{"query with values", `spoil() return db:query("SELECT x FROM three WHERE x < ` + one + ` ORDER BY x", 10)`, false},
		{"query of texts", `spoil() local rows = db:query("SELECT s FROM three WHERE s < ` + one + ` ORDER BY x", "z")
			for i, row in ipairs(rows) do rows[i] = { x = tonumber(row.s) } end return rows`, false},
		{"each", `spoil() local rows = native.json.list{} for row in db:each("SELECT x FROM three ORDER BY x") do rows[#rows + 1] = row end return rows`, false},
		{"stream", `spoil() local rows = native.json.list{} for row in db:stream("SELECT x FROM three ORDER BY x"):json_lines() do rows[#rows + 1] = row end return rows`, false},
		{"exec", `spoil() return db:exec("INSERT INTO faults VALUES (2)").affected`, true},
		{"exec with values", `spoil() return db:exec("INSERT INTO faults VALUES (` + one + `)", 2).affected`, true},
		{"query that writes", `spoil() return #db:query("` + returning + `")`, true},
		{"begin", `spoil() return db:transaction(function(tx) return tx:exec("INSERT INTO faults VALUES (2)").affected end)`, true},
		{"exec in a transaction", `return db:transaction(function(tx) spoil() return tx:exec("INSERT INTO faults VALUES (2)").affected end)`, true},
		{"commit", `return db:transaction(function(tx) local n = tx:exec("INSERT INTO faults VALUES (2)").affected spoil() return n end)`, true},
		{"rollback", `return db:transaction(function(tx) tx:exec("INSERT INTO faults VALUES (2)") spoil() error({ code = "mine" }) end)`, true},
	}
}

// TestNoFaultOfAnAnswerIsTakenForSuccess spoils each message of each answer in
// each way: no write that wasn't made is reported as made, none that was made as
// not made, and no read that failed as one with fewer rows.
func TestNoFaultOfAnAnswerIsTakenForSuccess(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			direct := connection(t)
			direct.TLS = sql.TLSOff // which would notice most of it
			observer := newHarness(t, map[string]sql.Connection{"main": direct})
			observer.expect(t, `true`, `
				local db = native.sql.open("main")
				db:exec("DROP TABLE IF EXISTS faults") db:exec("CREATE TABLE faults (x INT)")
				db:exec("DROP TABLE IF EXISTS three") db:exec("CREATE TABLE three (x INT, s TEXT)")
				db:exec("INSERT INTO three VALUES (1, '1'), (2, '2'), (3, '3')")
				return true`)
			for _, op := range faultOps(driver) {
				cases := 0
				for name, fault := range answerFaults {
					if name == "zeros" && driver == "mysql" && !op.writes {
						continue // zeros are values, and only TLS has a checksum
					}
					for n := 0; ; n++ {
						text, met := spoiled(t, driver, direct, observer, op, name, n, fault)
						if !met {
							break
						}
						cases++
						if text != "" {
							t.Errorf("%s, %s message %d: %s", op.name, name, n, text)
						}
					}
				}
				t.Logf("%s: %d cases", op.name, cases)
			}
		})
	}
}

// spoiled makes one operation with the n-th message of its answers spoiled, and
// returns what is wrong with what it has reported.
func spoiled(t *testing.T, driver string, c sql.Connection, observer *harness, op faultOp, name string, n int, fault func(framing, []byte) ([]byte, bool)) (wrong string, met bool) {
	t.Helper()
	observer.expect(t, `true`, `native.sql.open("main"):exec("DELETE FROM faults") return true`)
	p := withProxy(t, &c)
	defer p.close()
	h := newHarness(t, map[string]sql.Connection{"main": c})
	spoil, reached := nthMessage(framings[driver], n, fault)
	begin := func() { h.db.WaitIdle(); p.spoil(spoil) }
	h.onStall.Store(&begin)
	r := h.run(t.Context(), "a", `
		local spoil, db = native.test.stall, native.sql.open("main")
		db:query("SELECT 1 AS a")
		local ok, result = pcall(native.deadline.with, 150, function() `+op.script+` end)
		if ok then return { ok = true, result = result } end
		if type(result) == "string" then return { message = result } end
		return { code = result.code, applied = result.applied, message = result.message }`, nil)
	p.spoil(nil)
	p.cut()
	if r.Error != nil {
		return fmt.Sprint(r.Error), true
	}
	if !*reached {
		return "", false
	}
	var got struct {
		OK                     bool
		Result                 any
		Code, Applied, Message string
	}
	if err := json.Unmarshal(r.JSON, &got); err != nil {
		t.Fatal(err)
	}
	if len(r.Incidents) > 0 {
		return fmt.Sprintf("%s, and the incidents %.300v", r.JSON, r.Incidents), true
	}
	return compare(t, observer, op, got.OK, got.Result, got.Code, got.Applied, string(r.JSON)), true
}

// compare compares what was reported with what is true.
func compare(t *testing.T, observer *harness, op faultOp, ok bool, result any, code, applied, report string) string {
	t.Helper()
	if !op.writes {
		if text, _ := json.Marshal(result); ok && string(text) != `[{"x":1},{"x":2},{"x":3}]` {
			return "reported as read: " + report
		}
		return ""
	}
	var rows int
	r := observer.run(t.Context(), "a", `return native.sql.open("main"):query("SELECT COUNT(*) AS n FROM faults")[1].n`, nil)
	if err := json.Unmarshal(r.JSON, &rows); err != nil {
		t.Fatal(err, r.Error)
	}
	made := rows == 1
	switch {
	case op.name == "rollback" && (made || code != "mine" && !strings.Contains(report, "deadline exceeded")):
		return fmt.Sprintf("%d rows after a rollback, %s", rows, report)
	case op.name == "rollback":
	case ok && (!made || result != 1.0):
		return "reported as made: " + report
	case !ok && made && applied == "no":
		return "reported as not made: " + report
	}
	return ""
}

// TestMalformedAnswerToTheCleanUpIsSurvived spoils what servers answer after a
// call: nothing recovers from a panic there but the pool itself.
func TestMalformedAnswerToTheCleanUpIsSurvived(t *testing.T) {
	for driver, connection := range servers {
		for _, name := range []string{"short by 1", "cut body", "ones", "one byte"} {
			for n := range 2 {
				c := connection(t)
				c.TLS = sql.TLSOff
				p := withProxy(t, &c)
				h := newHarness(t, map[string]sql.Connection{"main": c})
				spoil, _ := nthMessage(framings[driver], n, answerFaults[name])
				begin := func() { p.spoil(spoil) }
				h.onStall.Store(&begin)
				h.expect(t, "1", `
					local db = native.sql.open("main")
					local a = db:query("SELECT 1 AS a")[1].a
					pcall(db.transaction, db, function(tx) -- its commit, and the reset
						tx:query("SELECT 1 AS a")
						native.test.stall()
					end)
					return a`)
				h.db.WaitIdle()
				p.close()
			}
		}
	}
}
