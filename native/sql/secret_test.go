package sql_test

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/runtime"
)

// forms returns the encodings of a password that a text may contain.
func forms(secret string) []string {
	return []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(fmt.Sprintf("%q", secret), `"`)}
}

// everything returns what a host could print of a run.
func everything(h *harness, r *runtime.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v %+v %#v %s", r.JSON, r.Error, r.Error, r, h.log)
	for _, incident := range r.Incidents {
		fmt.Fprintf(&b, " %v %+v", incident, incident)
	}
	return b.String()
}

// captured runs f and returns what the process has printed meanwhile.
func captured(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	f()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPasswordIsInNoOutput(t *testing.T) {
	wrong := `wrong-` + password
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := closed.Addr().(*net.TCPAddr).Port
	closed.Close()
	const use = `
		local db = native.sql.open("main")
		local ok, err = pcall(db.query, db, "SELECT 1 AS a")
		if ok then return "it works" end
		print(err, err.message)
		return { err.code, err.message }`
	for driver, connection := range servers {
		for name, test := range map[string]struct {
			change func(*sql.Connection)
			script string
			want   string // a part of the result
		}{
			"it works":          {func(*sql.Connection) {}, use, "it works"},
			"a wrong password":  {func(c *sql.Connection) { c.Password = passwordOf(wrong) }, use, "refused the connection: SQLSTATE 28"},
			"no password":       {func(c *sql.Connection) { c.Password = nil }, use, "sql_unavailable"},
			"a wrong user":      {func(c *sql.Connection) { c.User = "unknown" }, use, "refused the connection: SQLSTATE 28"},
			"a wrong database":  {func(c *sql.Connection) { c.Database = "nowhere" }, use, `there is no such database`},
			"nothing listens":   {func(c *sql.Connection) { c.Port = port }, use, "nothing listens there"},
			"a name that isn't": {func(c *sql.Connection) { c.Host = "no.such.host.invalid" }, use, "its name can't be resolved"},
			"no trust":          {func(c *sql.Connection) { c.RootCAs = nil }, use, "its certificate is not trusted"},
			"another name":      {func(c *sql.Connection) { c.Host = "127.0.0.2" }, use, "sql_unavailable"},
			"no TLS":            {func(c *sql.Connection) { c.TLS = sql.TLSOff }, use, "it works"},
		} {
			t.Run(driver+"/"+name, func(t *testing.T) {
				c := connection(t)
				test.change(&c)
				h := newHarness(t, map[string]sql.Connection{"main": c})
				var output string
				printed := captured(t, func() {
					r := h.run(t.Context(), "a", test.script, nil)
					output = everything(h, r)
					h.db.WaitIdle()
				})
				if !strings.Contains(output, test.want) {
					t.Errorf("got %s, want %q in it", output, test.want)
				}
				if printed != "" {
					t.Errorf("it printed %s", printed)
				}
				for _, secret := range append(forms(password), forms(wrong)...) {
					if strings.Contains(output, secret) {
						t.Errorf("the password is in %s", output)
					}
				}
				for _, address := range []string{"127.0.0.1:", "'@'127", "[::1]"} {
					if strings.Contains(output, address) {
						t.Errorf("an address is in %s", output)
					}
				}
			})
		}
	}
}

func TestErrorCauseHasNoSecret(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			c.Password = passwordOf("x" + password)
			h := newHarness(t, map[string]sql.Connection{"main": c})
			conn, err := h.db.Open("a", "main", sql.NewOpenRows())
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(t.Context(), sql.Statement{Text: "DELETE FROM t"})
			known, ok := err.(*outcome.Error)
			if !ok || known.Cause == nil {
				t.Fatalf("got %v", err)
			}
			for _, text := range []string{
				fmt.Sprintf("%v", err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err),
				fmt.Sprintf("%v", known.Cause), fmt.Sprintf("%+v", known.Cause), fmt.Sprintf("%#v", known.Cause),
			} {
				for _, secret := range forms(password) {
					if strings.Contains(text, secret) {
						t.Errorf("the password is in %s", text)
					}
				}
			}
			if sql.Unknown(err) || known.Applied != "" && known.Applied != outcome.AppliedNo {
				t.Errorf("got applied %q of what was never sent", known.Applied)
			}
		})
	}
}

func TestSecretPrintsAsAMask(t *testing.T) {
	target := sql.Target{Secret: password}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, target); strings.Contains(text, password) || strings.Contains(text, `p%41`) {
			t.Errorf("%s: %s", format, text)
		}
	}
}

func TestPasswordIsNotSentWithoutTLS(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			got := make(chan string, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					got <- err.Error()
					return
				}
				defer conn.Close()
				// PostgreSQL refuses the request for TLS; MariaDB greets
				// without TLS among its capabilities.
				greetings := map[string]string{"postgres": "N", "mysql": greeting}[driver]
				if driver == "postgres" {
					conn.Read(make([]byte, 8))
				}
				conn.Write([]byte(greetings))
				rest := make([]byte, 1000)
				n, _ := conn.Read(rest)
				got <- string(rest[:n])
			}()
			c.Port = l.Addr().(*net.TCPAddr).Port
			c.RootCAs = x509.NewCertPool()
			h := newHarness(t, map[string]sql.Connection{"main": c})
			h.expect(t, `["sql_unavailable",false,true]`, `
				local ok, err = pcall(function() native.sql.open("main"):query("SELECT 1") end)
				return { err.code, err.retryable, err.message:find("offers no TLS") ~= nil }`)
			if sent := <-got; sent != "" {
				t.Errorf("it was sent %q", sent)
			}
		})
	}
}

// greeting is that of a MySQL server that offers no TLS: protocol 10, version,
// thread, challenge, capabilities without bit 11.
const greeting = "\x49\x00\x00\x00\x0a5.7.0\x00\x01\x00\x00\x00abcdefgh\x00\xff\xf7\x21\x02\x00\xff\x81\x15" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00abcdefghijkl\x00mysql_native_password\x00"
