package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/tenant"
)

// validator collects the errors in a configuration as a whole.
type validator struct {
	origins map[string]string // by path, with dots
	errs    []error
}

// fail adds an error about a path, with its place, or that of the nearest key
// above it that is set.
func (v *validator) fail(path, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s%s: %s", placePrefix(v.origins, path), path, fmt.Sprintf(format, args...)))
}

// placePrefix returns the place of a path, or of the nearest key above it that is
// set, as the beginning of an error.
func placePrefix(origins map[string]string, path string) string {
	for at := path; at != ""; {
		if where := origins[at]; where != "" && where != placeDefault {
			return where + ": "
		}
		dot := strings.LastIndexByte(at, '.')
		at = at[:max(dot, 0)]
	}
	return ""
}

// validate checks what depends on several values.
func (c *Config) validate(origins map[string]string) error {
	c.origins = origins
	v := &validator{origins: origins}
	switch {
	case c.DB.File != "" && c.DB.Table != "":
		v.fail("db.file", "excludes db.table (%s)", origins["db.table"])
	case c.DB.Table == "" && (strings.HasPrefix(origins["db.region"], "-") || strings.HasPrefix(origins["db.endpoint"], "-")):
		v.errs = append(v.errs, errors.New("--db-region and --db-endpoint need --db-table"))
	case c.DB.Table == "":
		c.DB.Region, c.DB.Endpoint = "", ""
	}
	v.address("db.endpoint", c.DB.Endpoint)
	v.address("trace.endpoint", c.Trace.Endpoint)
	if c.Lock.GuardMillis < 1000 {
		v.fail("lock.guard_ms", "got %d, want 1000 or more", c.Lock.GuardMillis)
	}
	v.allowList("", c.HTTP)
	v.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	v.oneOf("log.format", c.Log.Format, "auto", "json", "console")
	v.connections("", c.SQL)
	v.listener("task.listen", c.Task.Listen)
	v.listener("task.internal_listen", c.Task.InternalListen)
	v.onePortEach(c.Task)
	v.tokens(c)
	for _, id := range slices.Sorted(maps.Keys(c.Tenants)) {
		t, at := c.Tenants[id], "tenants."+id
		if _, err := tenant.Parse(id); err != nil {
			v.fail(at, "%v", err)
		}
		v.connections(at+".", t.SQL)
		if t.HTTP != nil {
			v.allowList(at+".", *t.HTTP)
		}
	}
	v.routes(c)
	for _, name := range slices.Sorted(maps.Keys(c.Task.Schedules)) {
		v.tenantExists("task.schedules."+name+".tenant", c.Task.Schedules[name].Tenant, c.Tenants)
	}
	return errors.Join(v.errs...)
}

func (v *validator) oneOf(path, got string, known ...string) {
	if !slices.Contains(known, got) {
		v.fail(path, "got %q, want one of %s", got, strings.Join(known, ", "))
	}
}

func (v *validator) allowList(at string, h HTTP) {
	if err := (http.Policy{Allow: h.Allow}).Check(); err != nil {
		v.fail(at+"http.allow", "%s", strings.TrimPrefix(err.Error(), "http.allow: "))
	}
}

func (v *validator) connections(at string, all map[string]SQL) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, path := all[name], at+"sql."+name
		v.oneOf(path+".driver", s.Driver, "postgres", "mysql", "sqlite")
		if s.TLS != "" {
			v.oneOf(path+".tls", s.TLS, "require", "off")
		}
		if s.Driver == "sqlite" && s.File == "" {
			v.fail(path+".file", "the driver sqlite needs it")
		}
		if s.Port > portMax {
			v.fail(path+".port", "want a port from 1 to %d", portMax)
		}
		v.hostAlone(path+".host", s.Host)
		for key, value := range map[string]string{"user": s.User, "database": s.Database} {
			if strings.Contains(value, "://") {
				v.fail(path+"."+key, "want a name alone, not a URL")
			}
		}
	}
}

const portMax = 1<<16 - 1

// hostAlone checks that a host is one: a name, an address, or the path of a
// socket. The error doesn't show the value: a URL or a DSN holds a password.
func (v *validator) hostAlone(path, host string) {
	name := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	_, notIP := netip.ParseAddr(name)
	switch {
	case host == "" || notIP == nil:
	case strings.Contains(host, "://") || strings.ContainsAny(host, "@=?#&\\;() \t\r\n") || strings.Contains(host, "/") && host[0] != '/':
		v.fail(path, "want a host alone, such as db.internal, not a URL or DSN: user, password and database have keys of their own")
	case host[0] != '/' && strings.Contains(host, ":"):
		v.fail(path, "want a host without a port: that has a key of its own")
	}
}

// routes checks what a function on AWS Lambda would refuse at its start.
func (v *validator) routes(c *Config) {
	seen := map[string]string{} // paths by what they match
	for i, r := range c.Lambda.Routes {
		path := fmt.Sprintf("lambda.routes.%d", i)
		before, twice := seen[r.Match]
		switch {
		case r.Match == "":
			v.fail(path+".match", "a route matches nothing")
		case len(r.Match) > lambda.MatchMax:
			v.fail(path+".match", "want %d bytes at most", lambda.MatchMax)
		case twice:
			v.fail(path+".match", "%q is matched by %s%s already", r.Match, placePrefix(v.origins, before), before)
		case r.Tenant == "" && r.Script == "":
			v.fail(path, "want a tenant, a script, or both")
		}
		if !twice {
			seen[r.Match] = path + ".match"
		}
		v.tenantExists(path+".tenant", r.Tenant, c.Tenants)
	}
}

// tenantExists checks that a tenant is configured. An empty one is: then the platform
// names it.
func (v *validator) tenantExists(path, id string, tenants map[string]Tenant) {
	if _, ok := tenants[id]; !ok && id != "" {
		v.fail(path, "there is no tenant %q", id)
	}
}

func (v *validator) listener(path, address string) {
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" || portNumber(port) < 0 {
		v.fail(path, "got %q, want a host, or none for all, and a port, such as 127.0.0.1:8080", address)
	}
}

// portNumber returns the number of a port, which may be a service's name, or -1 if
// it is neither.
func portNumber(port string) int {
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return -1
	}
	return n
}

// onePortEach checks that the two listeners of a task have different ports. Port 0
// is any free one.
func (v *validator) onePortEach(t Task) {
	host, port, err := net.SplitHostPort(t.Listen)
	other, otherPort, otherErr := net.SplitHostPort(t.InternalListen)
	if err != nil || otherErr != nil || portNumber(port) <= 0 || portNumber(port) != portNumber(otherPort) {
		return
	}
	if everywhere(host) || everywhere(other) || loopback(host) == loopback(other) {
		v.fail("task.internal_listen", "the port of task.listen (%s%s): want another", placePrefix(v.origins, "task.listen"), t.Listen)
	}
}

// everywhere reports whether a listener's host stands for all addresses.
func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// loopback returns the address of localhost, and any other host as it is.
func loopback(host string) string {
	if strings.EqualFold(host, "localhost") || host == "::1" {
		return "127.0.0.1"
	}
	return host
}

// address checks the URL of a service. It must hold no password, because every
// value may be printed.
func (v *validator) address(path, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() != "" && portNumber(u.Port()) <= 0:
		v.fail(path, "want a URL such as http://127.0.0.1:4318")
	case u.Fragment != "":
		v.fail(path, "want a URL without a fragment (#)")
	case u.User != nil:
		v.fail(path, "want a URL without a name and password")
	}
}
