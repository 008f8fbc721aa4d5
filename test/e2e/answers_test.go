package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answersScript returns what each verb makes of the answers.
const answersScript = `
local p, reports = native.db.open("p"), {}
local function try(name, fn, ...)
  local ok, err = pcall(fn, ...)
  reports[#reports + 1] = name .. ": " .. (ok and "believed" or err.code .. " " .. tostring(err.applied))
end
try("get", p.get, p, "k")
try("get_many", p.get_many, p, { "a", "b" })
try("list", p.list, p)
try("each", function() for _ in p:each{} do end end)
try("put", p.put, p, "k", 1)
try("new", p.put, p, "k", 1, { new = true })
try("delete", p.delete, p, "k")
try("add", p.add, p, "k", 1)
try("update", p.update, p, "k", function() return 1 end)
try("atomic", native.db.atomic, { { "put", p, "a", 1 }, { "delete", p, "b" } })
try("with", native.lock.with, "l", { lease_ms = 2000 }, function() end)
return table.concat(reports, "; ")
`

const answersResult = `"get: db_unavailable nil; get_many: db_unavailable nil; list: db_unavailable nil; each: db_unavailable nil; ` +
	`put: db_unknown unknown; new: db_unknown unknown; delete: db_unknown unknown; add: db_unknown unknown; ` +
	`update: db_unavailable no; atomic: db_unknown unknown; with: db_unavailable nil"`

// TestSomethingElseAtTheEndpoint has servers in place of the table that answer
// everything with success.
func TestSomethingElseAtTheEndpoint(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"{}":         func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") },
		"nothing":    func(http.ResponseWriter, *http.Request) {},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>Please log in</html>")
		},
		"another service": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amzn-Requestid", "ID")
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			io.WriteString(w, "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			defer server.Close()
			tb := &table{t: t, name: "table", endpoint: server.URL, dir: t.TempDir()}
			write(t, tb.dir, "answers.lua", answersScript)
			if got := tb.command(server.URL, "run", "answers.lua").output(); got != answersResult {
				t.Errorf("got\n%s\nwant\n%s", got, answersResult)
			}
			for _, command := range [][]string{{"table", "create", "--yes"}, {"table", "check"}, {"locks", "ls", "--tenant", "acme"}} {
				p := tb.command(server.URL, command...)
				if p.Run() == nil || !strings.Contains(p.stderr.String(), "is db.endpoint right") {
					t.Errorf("%v: got %s%s, want an error about the endpoint", command, p.stdout.String(), p.stderr.String())
				}
			}
		})
	}
}
