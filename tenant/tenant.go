// Package tenant identifies tenants and bounds their runs: the tenant's id, the
// limits of a run, and the prefix that separates its rows from those of other
// tenants.
package tenant

import (
	"fmt"
	"regexp"
)

// ID names a tenant. Its alphabet ([a-z0-9][a-z0-9_-]{0,62}) has no
// separator in it, which is what makes [ID.Partition] injective.
type ID string

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// Parse returns s as an ID. The error is about an s outside of the alphabet.
func Parse(s string) (ID, error) {
	if !idPattern.MatchString(s) {
		return "", fmt.Errorf("tenant id %q: want 1 to 63 of a-z, 0-9, _ and -, first a letter or digit", s)
	}
	return ID(s), nil
}

// Partition returns the partition key under which the tenant's partition
// name is stored: "<tenant>/<name>". No two pairs of tenant and name share a
// key, because no tenant id contains a slash.
func (id ID) Partition(name string) string { return string(id) + "/" + name }
