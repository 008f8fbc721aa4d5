package config

import (
	"fmt"
	"strings"
)

// alias is a key that was renamed. The old name still works, with a warning.
type alias struct {
	old, current string // paths with dots, "*" for any key
}

// aliases are all renamed keys, each for a single value.
var aliases = []alias{
	{"task.running", "task.max_concurrency"},
	{"task.tenant_running", "task.tenant_max_concurrency"},
	{"task.script_running", "task.script_max_concurrency"},
	{"tenants.*.running", "tenants.*.max_concurrency"},
	{"tenants.*.script_running", "tenants.*.script_max_concurrency"},
}

// currentPath returns the path by which a key is known today: path itself
// unless the key was renamed.
func currentPath(path []string) []string {
	for _, a := range aliases {
		if !matches(path, a.old) {
			continue
		}
		current := strings.Split(a.current, ".")
		for i, part := range current {
			if part == "*" {
				current[i] = path[i]
			}
		}
		return current
	}
	return path
}

// matches reports whether a path fits a pattern with dots and stars.
func matches(path []string, pattern string) bool {
	parts := strings.Split(pattern, ".")
	if len(parts) != len(path) {
		return false
	}
	for i, part := range parts {
		if part != "*" && part != path[i] {
			return false
		}
	}
	return true
}

// setting is where a value was set, and by which name of its key.
type setting struct{ key, place string }

// noteAlias notes by which of its names a key was set at a place: an old name
// is worth a warning, and two names for one value are an error.
func (d *decoder) noteAlias(path []string, place string) {
	key, current := strings.Join(path, "."), strings.Join(currentPath(path), ".")
	before, twice := d.settings[current]
	switch {
	case place == placeDefault:
		return
	case twice && before.key != key:
		d.errs = append(d.errs, fmt.Errorf("%s: %s: sets the same value as %s (%s): remove the deprecated name", place, key, before.key, before.place))
	case key != current:
		d.origins[current] = place
		d.warnings = append(d.warnings, fmt.Sprintf("%s: %s is deprecated: use %s", place, key, current))
	}
	d.settings[current] = setting{key, place}
}

// Warnings are what works but should be changed, a line each with its place: a
// key that was renamed.
func (c *Config) Warnings() []string { return c.warnings }
