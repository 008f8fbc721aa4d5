package e2e

import (
	"compress/bzip2"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/test/postgres"
)

// unihan is real data from Debian's unicode-data: what dictionaries say about
// Chinese characters, in lines of three columns.
const (
	unihan     = "/usr/share/unicode/Unihan_DictionaryLikeData.txt.bz2"
	unihanRows = 100_000 // at least
)

// readUnihan returns the lines of unihan that are rows.
func readUnihan(t *testing.T) (rows []string) {
	t.Helper()
	f, err := os.Open(unihan)
	if err != nil {
		t.Fatalf("%v (Debian: apt-get install unicode-data)", err)
	}
	defer f.Close()
	text, err := io.ReadAll(bzip2.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line != "\n" && line[0] != '#' {
			rows = append(rows, line)
		}
	}
	if len(rows) < unihanRows {
		t.Fatalf("%s has %d rows, want %d or more", unihan, len(rows), unihanRows)
	}
	return rows
}

// rowServer serves rows at /rows. At /end it measures the process whose id is in
// pid, sends the result to peak, and answers then.
type rowServer struct {
	*httptest.Server
	pid  chan int
	peak chan int64
}

// serveRows starts a server. It calls half after half of the rows; nil disables
// that.
func serveRows(t *testing.T, rows []string, half func()) *rowServer {
	s := &rowServer{pid: make(chan int, 1), peak: make(chan int64, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rows", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# a comment\n#\n")
		for i, row := range rows {
			if i == len(rows)/2 && half != nil {
				w.(http.Flusher).Flush()
				half()
			}
			if _, err := io.WriteString(w, row); err != nil {
				return // the script has given up, and reports why
			}
		}
		fmt.Fprint(w, "\n# EOF\n")
	})
	mux.HandleFunc("GET /end", func(http.ResponseWriter, *http.Request) { s.peak <- peakOf(t, <-s.pid) })
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// measuredImport runs the example, and stays alive until the server has measured
// it. The kernel's figures of an ended process are useless: they include the peak
// of the test, which started it.
const measuredImport = `
	local import = require("stream_import")
	return function(event)
		local result = import(event)
		native.http.get(event["end"])
		return result
	end`

// export writes the rows as they were in the file, in any order.
const export = `
	local out = native.stream.create("rows")
	return function(event)
		if event.sql then
			for row in native.sql.open(event.sql):each("SELECT character, property, value FROM unihan") do
				out:write(row.character .. "\t" .. row.property .. "\t" .. row.value .. "\n")
			end
		else
			for key, document in native.db.open("unihan"):each() do
				out:write(key:gsub("/", "\t") .. "\t" .. document.value .. "\n")
			end
		end
		out:close()
	end`

// importFixture is a folder with the example and a configured database.
type importFixture struct {
	t        *testing.T
	dir, sql string
}

// newImportFixture prepares imports into native.db or, if sql is not empty, into
// the connection of that name with the given configuration.
func newImportFixture(t *testing.T, sql, connection string) *importFixture {
	t.Helper()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	im := &importFixture{t: t, dir: t.TempDir(), sql: sql}
	copyFile(t, im.dir, "scripts/examples/stream_import.lua")
	write(t, im.dir, "measured.lua", measuredImport)
	write(t, im.dir, "export.lua", export)
	config := "limits: { max_data_ops: 200000 }\n"
	if sql != "" {
		config += "sql: { " + sql + ": " + connection + " }\n"
	}
	write(t, im.dir, "tidelock.yaml", config)
	return im
}

// command prepares a run with the rows of s.
func (im *importFixture) command(s *rowServer, script string, args ...string) *program {
	im.t.Helper()
	event := map[string]string{"url": s.URL + "/rows", "end": s.URL + "/end"}
	if im.sql != "" {
		event["sql"] = im.sql
	}
	text, err := json.Marshal(event)
	if err != nil {
		im.t.Fatal(err)
	}
	args = append([]string{"run", script, "--event", string(text), "--timeout", "9m", "--allow-net", strings.TrimPrefix(s.URL, "http://")}, args...)
	p := &program{Cmd: exec.CommandContext(im.t.Context(), fast, args...), t: im.t}
	p.Dir, p.Stdout, p.Stderr = im.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), "POSTGRES_PASSWORD=secret")
	return p
}

// measure imports the rows and returns the peak of the resident memory of the
// process, in bytes.
func (im *importFixture) measure(rows []string) int64 {
	im.t.Helper()
	s := serveRows(im.t, rows, nil)
	p := im.command(s, "measured.lua")
	p.start()
	s.pid <- p.Process.Pid
	p.end()
	if got, want := p.stdout.String(), fmt.Sprintf("{\"imported\":%d}\n", len(rows)); got != want {
		im.t.Fatalf("got %s, want %s", got, want)
	}
	return <-s.peak
}

// peakOf returns the peak of the resident memory of a process, in bytes. It needs
// Linux.
func peakOf(t *testing.T, pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Error(err)
		return 0
	}
	_, after, _ := strings.Cut(string(status), "\nVmHWM:")
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Errorf("%v in %s", err, status)
	}
	return kib << 10
}

// check compares the rows in the database with want.
func (im *importFixture) check(want []string) {
	im.t.Helper()
	file := filepath.Join(im.dir, "rows.tsv")
	im.command(serveRows(im.t, nil, nil), "export.lua", "--output", "rows="+file).output()
	text, err := os.ReadFile(file)
	if err != nil {
		im.t.Fatal(err)
	}
	got := slices.Sorted(strings.Lines(string(text)))
	if want := slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		im.t.Errorf("got %d rows that differ from the %d of the file", len(got), len(want))
	}
}

func TestStreamImportUsesBoundedMemory(t *testing.T) {
	t.Parallel()
	rows := readUnihan(t)
	for _, test := range []struct {
		name, sql  string
		connection func(*testing.T) string
	}{
		{"Documents", "", func(*testing.T) string { return "" }},
		{"SQLite", "file", func(*testing.T) string { return "{ driver: sqlite, file: ./rows.db }" }},
		{"PostgreSQL", "server", connectionToPostgres},
	} {
		t.Run(test.name, func(t *testing.T) {
			im := newImportFixture(t, test.sql, test.connection(t))
			some := rows[:len(rows)/10]
			tenth := im.measure(some)
			im.check(some)
			peak := im.measure(rows)
			im.check(rows)
			t.Logf("peak of memory: %.1f MiB for %d rows, %.1f MiB for %d", mib(peak), len(rows), mib(tenth), len(some))
			// An import that kept all records would need twice the memory.
			if limit := tenth + tenth/2; peak > limit {
				t.Errorf("got a peak of %.1f MiB, want at most %.1f MiB", mib(peak), mib(limit))
			}
		})
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// connectionToPostgres starts a server and returns the configuration of a
// connection over its socket.
func connectionToPostgres(t *testing.T) string {
	server, err := postgres.Start("secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return fmt.Sprintf("{ driver: postgres, host: %s, port: %d, user: %s, database: %s, password: env:POSTGRES_PASSWORD }",
		server.Socket, server.Port, postgres.User, postgres.Database)
}

func TestStreamImportSkipsWhileAnotherRuns(t *testing.T) {
	t.Parallel()
	im := newImportFixture(t, "", "")
	rows := readUnihan(t)[:1000]
	reached, goOn := make(chan struct{}), make(chan struct{})
	s := serveRows(t, rows, func() {
		close(reached) // panics if the second import requests rows
		<-goOn
	})
	first := im.command(s, "stream_import.lua")
	first.start()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first.end()
	}()
	select {
	case <-reached:
	case <-ended:
		t.Fatal("the first import ended before it had half of the rows")
	}
	if got := im.command(s, "stream_import.lua").output(); got != importRunning {
		t.Errorf("got %s, want %s", got, importRunning)
	}
	close(goOn)
	<-ended
	if got, want := first.stdout.String(), `{"imported":1000}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	im.check(rows)
}

func TestStreamImportRollsBackWhenBrokenOff(t *testing.T) {
	t.Parallel()
	im := newImportFixture(t, "file", "{ driver: sqlite, file: ./rows.db }")
	rows := readUnihan(t)
	before, next := rows[:1000], rows[1000:5000]
	im.command(serveRows(t, before, nil), "stream_import.lua").output()
	broken := im.command(serveRows(t, next, func() { panic(http.ErrAbortHandler) }), "stream_import.lua")
	broken.start()
	if err := broken.Wait(); err == nil || !strings.Contains(broken.stderr.String(), "net_failed") {
		t.Errorf("got %v, want an error with the code net_failed\n%s%s", err, broken.stdout.String(), broken.stderr.String())
	}
	im.check(before)
}
