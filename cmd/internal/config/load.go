package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
)

const (
	// DefaultFile is the configuration file that is read if it is there and no
	// other is named.
	DefaultFile = "tidelock.yaml"
	// EnvFile is the variable of the environment that names another.
	EnvFile = envPrefix + "CONFIG"

	envPrefix    = "TIDELOCK_"
	envSeparator = "__"
	// separator lies between the keys of a path inside koanf: keys themselves
	// may have dots and slashes.
	separator = "\x00"
)

// Options are the sources of a configuration.
type Options struct {
	// File is the configuration file. If it is empty, the file that the
	// environment names is read, or else [DefaultFile] if it exists.
	File string
	// Environ is the environment in the form of [os.Environ].
	Environ []string
	// Flags are the flags that are set.
	Flags []Flag
}

// Flag is a flag that sets a key.
type Flag struct {
	Key   string // such as "db.table"
	Name  string // such as "--db-table"
	Value any
}

// layer is one source of a configuration.
type layer struct {
	values map[string]any
	// origin returns the place of the value at a path.
	origin func(path []string) string
	// folder is what relative paths are relative to; "" is the working folder.
	folder string
}

// Load reads and validates a configuration. Its error lists all mistakes, a line
// each.
func Load(o Options) (*Config, error) {
	layers, file, err := o.layers()
	if err != nil {
		return nil, err
	}
	merged := koanf.New(separator)
	d := newDecoder()
	for _, l := range layers {
		d.check(l)
		if len(d.errs) > 0 {
			return nil, errors.Join(d.errs...)
		}
		chooseStore(merged, l)
		if err := merged.Load(confmap.Provider(l.values, ""), nil); err != nil {
			return nil, err
		}
	}
	c := &Config{}
	d.decode(c, merged.Raw())
	if len(d.errs) > 0 {
		return nil, errors.Join(d.errs...)
	}
	c.values, c.warnings, c.source = d.values, d.warnings, file
	return c, c.validate(d.origins)
}

// layers reads all sources, that which counts least first. read is the file that was
// read, "" if there was none.
func (o Options) layers() (layers []layer, read string, err error) {
	layers = []layer{{defaults(), func([]string) string { return placeDefault }, ""}}
	file, named := o.File, o.File != ""
	for _, v := range o.Environ {
		if value, ok := strings.CutPrefix(v, EnvFile+"="); ok && file == "" {
			file, named = value, value != ""
		}
	}
	if file == "" {
		file = DefaultFile
	}
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		l, err := parse(file, text)
		if err != nil {
			return nil, "", err
		}
		layers, read = append(layers, l), file
	case named || !errors.Is(err, os.ErrNotExist):
		return nil, "", err
	}
	environment, err := o.environment()
	if err != nil {
		return nil, "", err
	}
	return append(layers, environment, o.flags()), read, nil
}

// environment reads variables such as TIDELOCK_DB__TABLE. An empty one counts as
// missing.
func (o Options) environment() (layer, error) {
	k := koanf.New(separator)
	err := k.Load(env.Provider(separator, env.Opt{
		Prefix: envPrefix,
		TransformFunc: func(name, value string) (string, any) {
			if name == EnvFile || value == "" {
				return "", nil
			}
			return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, envPrefix)), envSeparator, separator), value
		},
		EnvironFunc: func() []string { return o.Environ },
	}), nil)
	return layer{k.Raw(), func(path []string) string {
		return envPrefix + strings.ToUpper(strings.Join(path, envSeparator))
	}, ""}, err
}

func (o Options) flags() layer {
	values := map[string]any{}
	names := map[string]string{}
	for _, f := range o.Flags {
		at := values
		keys := strings.Split(f.Key, ".")
		for _, k := range keys[:len(keys)-1] {
			below, ok := at[k].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[k] = below
			}
			at = below
		}
		at[keys[len(keys)-1]] = f.Value
		names[f.Key] = f.Name
	}
	return layer{values, func(path []string) string { return names[strings.Join(path, ".")] }, ""}
}

// chooseStore removes the file of earlier layers if l names a table, and the other
// way round, so that a flag can choose another store than the environment. An
// empty name of a table chooses none.
func chooseStore(merged *koanf.Koanf, l layer) {
	db, _ := l.values["db"].(map[string]any)
	drop := func(keys ...string) {
		for _, k := range keys {
			merged.Delete("db" + separator + k)
		}
	}
	if table, ok := db["table"]; ok && table != "" {
		drop("file")
	}
	if _, ok := db["file"]; ok {
		drop("table", "region", "endpoint")
	}
}

// relativeTo makes a path in a file relative to that file's folder.
func relativeTo(folder, path string) string {
	if folder == "" || path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
