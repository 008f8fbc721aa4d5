package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

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
	for i, r := range c.Lambda.Routes {
		v.tenantExists(fmt.Sprintf("lambda.routes.%d.tenant", i), r.Tenant, c.Tenants)
	}
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
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		v.fail(path, "got %q, want a host, or none for all, and a port, such as 127.0.0.1:8080", address)
	}
}

// address checks the URL of a service. It must hold no password, because every
// value may be printed.
func (v *validator) address(path, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		v.fail(path, "want a URL such as http://127.0.0.1:4318")
	case u.User != nil:
		v.fail(path, "want a URL without a name and password")
	}
}
