package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// TenantLimits returns the limits of a tenant's runs: its own where they are set,
// otherwise the general ones.
func (c *Config) TenantLimits(id tenant.ID) tenant.Limits {
	own, all := c.Tenants[string(id)].Limits, c.Limits
	return tenant.Limits{
		Timeout:      or(own.Timeout, all.Timeout).Value(),
		Instructions: instructions(own.Instructions, all.Instructions),
		MemoryBytes:  int64(or(own.Memory, all.Memory)),
		Coroutines:   int(or(own.Coroutines, all.Coroutines)),
		DataOps:      int64(or(own.MaxDataOps, all.MaxDataOps)),
		LogBytes:     int64(or(own.LogBytes, all.LogBytes)),
		ResultBytes:  int64(or(own.ResultBytes, all.ResultBytes)),
	}
}

func or[T ~int64](own, all T) T {
	if own != 0 {
		return own
	}
	return all
}

// instructions tells a tenant's 0, which is no limit, from none of its own.
func instructions(own, all *Budget) int64 {
	if own == nil {
		own = all
	}
	if own == nil {
		return 0
	}
	return int64(*own)
}

// Allow lists the hosts that native.http may reach for a tenant.
func (c *Config) Allow(id tenant.ID) []string {
	if own := c.Tenants[string(id)].HTTP; own != nil {
		return own.Allow
	}
	return c.HTTP.Allow
}

// Connections are the connections that a tenant's scripts may open, by name.
func (c *Config) Connections(id tenant.ID) map[string]SQL {
	all := maps.Clone(c.SQL)
	if all == nil {
		all = map[string]SQL{}
	}
	maps.Copy(all, c.Tenants[string(id)].SQL)
	return all
}

// Directory checks that the folders of all tenants can be opened. Nothing outside
// a folder is ever read, whatever links lie in it; see [runtime.Folder].
func (c *Config) Directory() (runtime.Directory, error) {
	d := runtime.Directory{}
	for name, t := range c.Tenants {
		id := tenant.ID(name)
		roots, err := c.ScriptRoots(id)
		if err != nil {
			return nil, err
		}
		if t.Scripts == "" {
			roots = nil // shared folders hold no scripts of its own
		}
		d[id] = runtime.Tenant{ID: id, Scripts: roots, Limits: c.TenantLimits(id)}
	}
	return d, nil
}

// ScriptRoots opens the folders in which a tenant's scripts find what they require:
// its own first, then those that it shares.
func (c *Config) ScriptRoots(id tenant.ID) (roots []fs.FS, err error) {
	name := string(id)
	folders := c.Tenants[name].Shared
	if own := c.Tenants[name].Scripts; own != "" {
		folders = append([]string{own}, folders...)
	}
	for _, folder := range folders {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil, fmt.Errorf("%stenants.%s: %w", placePrefix(c.origins, "tenants."+name+".scripts"), name, err)
		}
		if err := root.Close(); err != nil {
			return nil, err
		}
		roots = append(roots, runtime.Folder(folder)) // opened anew each time: a deployment may replace it
	}
	return roots, nil
}

// CheckSecrets reports the secrets that can't be read, as one error.
func (c *Config) CheckSecrets() error {
	var errs []error
	check := func(at string, all map[string]SQL) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if _, err := all[name].Password.Resolve(); err != nil {
				path := at + "sql." + name + ".password"
				errs = append(errs, fmt.Errorf("%s%s: %w", placePrefix(c.origins, path), path, err))
			}
		}
	}
	check("", c.SQL)
	for _, id := range slices.Sorted(maps.Keys(c.Tenants)) {
		check("tenants."+id+".", c.Tenants[id].SQL)
	}
	return errors.Join(errs...)
}
