package config

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock-lua/tidelock/native/spelling"
)

// decoder puts values into a [Config], and collects all that is wrong with
// them.
type decoder struct {
	origins map[string]string // by path, with dots
	values  []Value
	errs    []error
}

// Value is one value of a configuration, for people.
type Value struct {
	Key    string `json:"-"`      // such as "db.table"
	Text   string `json:"value"`  // secrets as references
	Origin string `json:"origin"` // "default", "tidelock.yaml:3", "TIDELOCK_DB__TABLE" or "--db-table"
}

// Values are all values that are set, defaults included, by their keys.
func (c *Config) Values() []Value { return c.values }

// check looks whether a layer is well formed, and notes where each value
// stands. Relative paths of a file become relative to its folder.
func (d *decoder) check(l layer) {
	w := walker{layer: l, errs: &d.errs, found: func([]string, reflect.Value) {}, seen: func(path []string) {
		d.origins[strings.Join(path, ".")] = l.origin(path)
	}}
	w.walk(reflect.ValueOf(new(Config)).Elem(), l.values, nil)
}

// decode fills c from the values of all layers.
func (d *decoder) decode(c *Config, values map[string]any) {
	w := walker{errs: &d.errs, seen: func([]string) {}, found: func(path []string, v reflect.Value) {
		key := strings.Join(path, ".")
		d.values = append(d.values, Value{key, text(v), d.origins[key]})
	}}
	w.layer.origin = func(path []string) string { return d.origins[strings.Join(path, ".")] }
	w.walk(reflect.ValueOf(c).Elem(), values, nil)
	slices.SortFunc(d.values, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
}

// walker goes through values along the fields of a Go value, which it sets.
type walker struct {
	layer layer
	errs  *[]error
	seen  func(path []string)                  // for each key, before its value
	found func(path []string, v reflect.Value) // for each value that is set
}

func (w *walker) wrong(path []string, format string, args ...any) {
	*w.errs = append(*w.errs, fmt.Errorf("%s: %s: %s", w.layer.origin(path), strings.Join(path, "."), fmt.Sprintf(format, args...)))
}

// walk sets v from raw.
func (w *walker) walk(v reflect.Value, raw any, path []string) {
	if len(path) > 0 {
		w.seen(path)
	}
	if raw == nil {
		return
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		w.scalar(v, t, raw, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		w.walk(v.Elem(), raw, path)
	case reflect.Struct:
		w.fields(v, raw, path)
	case reflect.Map:
		w.entries(v, raw, path)
	case reflect.Slice:
		w.elements(v, raw, path)
	case reflect.Bool:
		b, err := strconv.ParseBool(fmt.Sprint(raw))
		if err != nil {
			w.wrong(path, "got %s, want true or false", shown(path, raw))
			return
		}
		v.SetBool(b)
		w.found(path, v)
	default:
		s, ok := raw.(string)
		if !ok {
			w.wrong(path, "got %s, want a text: put it into quotes", shown(path, raw))
			return
		}
		v.SetString(s)
		w.found(path, v)
	}
}

func (w *walker) scalar(v reflect.Value, t encoding.TextUnmarshaler, raw any, path []string) {
	switch raw.(type) {
	case map[string]any, []any:
		w.wrong(path, "want a single value")
		return
	}
	if err := t.UnmarshalText(fmt.Append(nil, raw)); err != nil {
		w.wrong(path, "got %s, %v", shown(path, raw), err)
		return
	}
	w.found(path, v)
}

// hushed are the keys at and below which a value may be a secret that was put
// in the wrong place, or hold one.
var hushed = []string{"sql", "password", "tokens", "operator_tokens", "endpoint"}

// shownMax is how much of a value an error shows.
const shownMax = 80

// shown is a value that is wrong, as an error shows it.
func shown(path []string, raw any) string {
	switch raw.(type) {
	case map[string]any:
		return "keys"
	case []any, []string:
		return "a list"
	}
	for _, key := range path {
		if slices.Contains(hushed, key) {
			return "something else"
		}
	}
	text := fmt.Sprint(raw)
	if len(text) > shownMax {
		text = strings.ToValidUTF8(text[:shownMax], "") + "..."
	}
	return text
}

// paths are the fields that name a file or folder.
var paths = []string{"file", "scripts", "shared"}

func (w *walker) fields(v reflect.Value, raw any, path []string) {
	values, ok := raw.(map[string]any)
	if !ok {
		w.wrong(path, "want keys below it, got %s", shown(path, raw))
		return
	}
	known := map[string]int{}
	var names []string
	for i := range v.NumField() {
		if name, ok := v.Type().Field(i).Tag.Lookup("key"); ok {
			known[name] = i
			names = append(names, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		below := append(path[:len(path):len(path)], key)
		i, ok := known[key]
		if !ok {
			w.unknown(below, names)
			continue
		}
		switch {
		case value == nil: // says nothing, and takes nothing away from layers before
			delete(values, key)
		case slices.Contains(paths, key):
			value = w.relocate(value)
			values[key] = value
		case v.Field(i).Type() == reflect.TypeFor[Secret]():
			value = w.relocateSecret(value)
			values[key] = value
		}
		w.walk(v.Field(i), value, below)
	}
}

// relocate makes the paths of a file's layer relative to its folder.
func (w *walker) relocate(value any) any {
	switch value := value.(type) {
	case string:
		return beside(w.layer.folder, value)
	case []any:
		for i := range value {
			value[i] = w.relocate(value[i])
		}
	}
	return value
}

// relocateSecret does so with the file of a secret.
func (w *walker) relocateSecret(value any) any {
	if text, ok := value.(string); ok {
		if file, ok := strings.CutPrefix(text, secretFile); ok {
			return secretFile + beside(w.layer.folder, file)
		}
	}
	return value
}

func (w *walker) unknown(path, known []string) {
	key := path[len(path)-1]
	if near := spelling.Nearest(key, known); near != "" {
		w.wrong(path, "unknown key, did you mean %q?", near)
		return
	}
	w.wrong(path, "unknown key, known are %s", strings.Join(known, ", "))
}

func (w *walker) entries(v reflect.Value, raw any, path []string) {
	values, ok := raw.(map[string]any)
	if !ok {
		w.wrong(path, "want names below it, got %s", shown(path, raw))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		element := reflect.New(v.Type().Elem()).Elem()
		w.walk(element, values[key], append(path[:len(path):len(path)], key))
		v.SetMapIndex(reflect.ValueOf(key), element)
	}
}

// elements sets a list; a text is one whose elements have commas between them.
func (w *walker) elements(v reflect.Value, raw any, path []string) {
	var list []any
	switch raw := raw.(type) {
	case []any:
		list = raw
	case string:
		for part := range strings.SplitSeq(raw, ",") {
			list = append(list, strings.TrimSpace(part))
		}
	case []string: // of a flag
		for _, part := range raw {
			list = append(list, part)
		}
	default:
		w.wrong(path, "want a list, got %s", shown(path, raw))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	for i := range list {
		w.walk(v.Index(i), list[i], append(path[:len(path):len(path)], strconv.Itoa(i)))
	}
}

func text(v reflect.Value) string { return fmt.Sprint(v.Interface()) }
