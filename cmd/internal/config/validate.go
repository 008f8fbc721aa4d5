package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/tenant"
)

// validator collects what is wrong with a configuration as a whole.
type validator struct {
	origins map[string]string // by path, with dots
	errs    []error
}

// wrong notes what is wrong at a path, with the place where it stands: that of
// the nearest key above it if it isn't there.
func (v *validator) wrong(path, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s%s: %s", placed(v.origins, path), path, fmt.Sprintf(format, args...)))
}

// placed is the place of a path, or of what is nearest above it, for the
// beginning of an error.
func placed(origins map[string]string, path string) string {
	for at := path; at != ""; {
		if where := origins[at]; where != "" && where != placeDefault {
			return where + ": "
		}
		dot := strings.LastIndexByte(at, '.')
		at = at[:max(dot, 0)]
	}
	return ""
}

// complete checks what no single value shows.
func (c *Config) complete(origins map[string]string) error {
	c.origins = origins
	v := &validator{origins: origins}
	switch {
	case c.DB.File != "" && c.DB.Table != "":
		v.wrong("db.file", "excludes db.table (%s)", origins["db.table"])
	case c.DB.Table == "" && (strings.HasPrefix(origins["db.region"], "-") || strings.HasPrefix(origins["db.endpoint"], "-")):
		v.errs = append(v.errs, errors.New("--db-region and --db-endpoint need --db-table"))
	case c.DB.Table == "":
		c.DB.Region, c.DB.Endpoint = "", ""
	}
	v.address("db.endpoint", c.DB.Endpoint)
	v.address("trace.endpoint", c.Trace.Endpoint)
	if c.Lock.GuardMillis < 1000 {
		v.wrong("lock.guard_ms", "got %d, want 1000 or more", c.Lock.GuardMillis)
	}
	v.allowed("", c.HTTP)
	v.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	v.oneOf("log.format", c.Log.Format, "auto", "json", "console")
	v.connections("", c.SQL)
	v.listener("task.listen", c.Task.Listen)
	v.listener("task.internal_listen", c.Task.InternalListen)
	v.tokens("task.operator_tokens", c.Task.OperatorTokens)
	for _, id := range slices.Sorted(maps.Keys(c.Tenants)) {
		t, at := c.Tenants[id], "tenants."+id
		if _, err := tenant.Parse(id); err != nil {
			v.wrong(at, "%v", err)
		}
		v.connections(at+".", t.SQL)
		v.tokens(at+".tokens", t.Tokens)
		if t.HTTP != nil {
			v.allowed(at+".", *t.HTTP)
		}
	}
	for i, r := range c.Lambda.Routes {
		v.known(fmt.Sprintf("lambda.routes.%d.tenant", i), r.Tenant, c.Tenants)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Task.Schedules)) {
		v.known("task.schedules."+name+".tenant", c.Task.Schedules[name].Tenant, c.Tenants)
	}
	return errors.Join(v.errs...)
}

func (v *validator) oneOf(path, got string, known ...string) {
	if !slices.Contains(known, got) {
		v.wrong(path, "got %q, want one of %s", got, strings.Join(known, ", "))
	}
}

func (v *validator) allowed(at string, h HTTP) {
	if err := (http.Policy{Allow: h.Allow}).Check(); err != nil {
		v.wrong(at+"http.allow", "%s", strings.TrimPrefix(err.Error(), "http.allow: "))
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
			v.wrong(path+".file", "the driver sqlite needs it")
		}
	}
}

// hashed is the form of a token in a configuration.
var hashed = regexp.MustCompile(`^sha256:[0-9a-fA-F]{64}$`)

// tokens must be hashes. What was found may be the token itself.
func (v *validator) tokens(path string, all []string) {
	for i, text := range all {
		if !hashed.MatchString(text) {
			v.wrong(fmt.Sprintf("%s.%d", path, i), "want sha256: and the 64 hexadecimal digits of the token's hash, never the token itself")
		}
	}
}

// known checks that a tenant is configured. An empty one is: then the platform
// names it.
func (v *validator) known(path, id string, tenants map[string]Tenant) {
	if _, ok := tenants[id]; !ok && id != "" {
		v.wrong(path, "there is no tenant %q", id)
	}
}

func (v *validator) listener(path, address string) {
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		v.wrong(path, "got %q, want a host, or none for all, and a port, such as 127.0.0.1:8080", address)
	}
}

// address checks the URL of a service. It may hold no password: whatever is
// configured may be printed.
func (v *validator) address(path, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		v.wrong(path, "want a URL such as http://127.0.0.1:4318")
	case u.User != nil:
		v.wrong(path, "want a URL without a name and password")
	}
}
