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

// decoder decodes values into a [Config], and collects all errors in them.
type decoder struct {
	origins  map[string]string  // by path, with dots
	settings map[string]setting // by path, with dots and current names
	values   []Value
	warnings []string
	errs     []error
}

// Value is one value of a configuration, as it is shown.
type Value struct {
	Key    string `json:"-"`      // such as "db.table"
	Text   string `json:"value"`  // secrets as references
	Origin string `json:"origin"` // "default", "tidelock.yaml:3", "TIDELOCK_DB__TABLE" or "--db-table"
}

func newDecoder() *decoder {
	return &decoder{origins: map[string]string{}, settings: map[string]setting{}}
}

// Values are all values that are set, defaults included, by their keys.
func (c *Config) Values() []Value { return c.values }

// check checks that a layer is well formed, and notes where each value stands.
// Relative paths of a file become relative to its folder, and renamed keys get
// their current names.
func (d *decoder) check(l layer) {
	w := walker{
		layer: l, errs: &d.errs,
		onKey:   func(path []string) { d.origins[strings.Join(path, ".")] = l.origin(path) },
		onValue: func(path []string, _ reflect.Value) { d.noteAlias(path, l.origin(path)) },
	}
	w.walk(reflect.ValueOf(new(Config)).Elem(), l.values, nil)
}

// decode fills c from the values of all layers.
func (d *decoder) decode(c *Config, values map[string]any) {
	w := walker{errs: &d.errs, onKey: func([]string) {}, onValue: func(path []string, v reflect.Value) {
		key := strings.Join(path, ".")
		d.values = append(d.values, Value{key, text(v), d.origins[key]})
	}}
	w.layer.origin = func(path []string) string { return d.origins[strings.Join(path, ".")] }
	w.walk(reflect.ValueOf(c).Elem(), values, nil)
	slices.SortFunc(d.values, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
}

// walker walks values along the fields of a Go value, and sets those.
type walker struct {
	layer   layer
	errs    *[]error
	onKey   func(path []string)                  // called for each key, before its value
	onValue func(path []string, v reflect.Value) // called for each value that is set
}

func (w *walker) fail(path []string, format string, args ...any) {
	*w.errs = append(*w.errs, fmt.Errorf("%s: %s: %s", w.layer.origin(path), strings.Join(path, "."), fmt.Sprintf(format, args...)))
}

// walk sets v from raw.
func (w *walker) walk(v reflect.Value, raw any, path []string) {
	if len(path) > 0 {
		w.onKey(path)
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
			w.fail(path, "got %s, want true or false", displayed(path, raw))
			return
		}
		v.SetBool(b)
		w.onValue(path, v)
	default:
		s, ok := raw.(string)
		if !ok {
			w.fail(path, "got %s, want a text: put it into quotes", displayed(path, raw))
			return
		}
		v.SetString(s)
		w.onValue(path, v)
	}
}

func (w *walker) scalar(v reflect.Value, t encoding.TextUnmarshaler, raw any, path []string) {
	switch raw.(type) {
	case map[string]any, []any:
		w.fail(path, "want a single value")
		return
	}
	if err := t.UnmarshalText(fmt.Append(nil, raw)); err != nil {
		w.fail(path, "got %s, %v", displayed(path, raw), err)
		return
	}
	w.onValue(path, v)
}

// secretKeys are the keys at and below which a value may be or hold a secret, even
// if in the wrong place. No error shows it.
var secretKeys = []string{"sql", "password", "tokens", "operator_tokens", "endpoint"}

// displayedMax bounds what an error shows of a value, in bytes.
const displayedMax = 80

// displayed returns what an error shows of a value.
func displayed(path []string, raw any) string {
	switch raw.(type) {
	case map[string]any:
		return "keys"
	case []any, []string:
		return "a list"
	}
	for _, key := range path {
		if slices.Contains(secretKeys, key) {
			return "something else"
		}
	}
	text := fmt.Sprint(raw)
	if len(text) > displayedMax {
		text = strings.ToValidUTF8(text[:displayedMax], "") + "..."
	}
	return text
}

// pathKeys are the keys whose values name files or folders.
var pathKeys = []string{"file", "scripts", "shared"}

func (w *walker) fields(v reflect.Value, raw any, path []string) {
	values, ok := raw.(map[string]any)
	if !ok {
		w.fail(path, "want keys below it, got %s", displayed(path, raw))
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
		name := currentPath(below)[len(path)]
		i, ok := known[name]
		if !ok {
			w.unknown(below, names)
			continue
		}
		switch {
		case value == nil: // a key without a value doesn't override earlier layers
			delete(values, key)
		case name != key:
			delete(values, key)
			values[name] = value
		case slices.Contains(pathKeys, key):
			value = w.relocate(value)
			values[key] = value
		case v.Field(i).Type() == reflect.TypeFor[Secret]():
			value = w.relocateSecret(value)
			values[key] = value
		}
		w.walk(v.Field(i), value, below)
	}
}

// relocate makes paths relative to the folder of the layer's file.
func (w *walker) relocate(value any) any {
	switch value := value.(type) {
	case string:
		return relativeTo(w.layer.folder, value)
	case []any:
		for i := range value {
			value[i] = w.relocate(value[i])
		}
	}
	return value
}

// relocateSecret is relocate for a reference to a secret.
func (w *walker) relocateSecret(value any) any {
	if text, ok := value.(string); ok {
		if file, ok := strings.CutPrefix(text, secretFile); ok {
			return secretFile + relativeTo(w.layer.folder, file)
		}
	}
	return value
}

func (w *walker) unknown(path, known []string) {
	key := path[len(path)-1]
	if near := spelling.Nearest(key, known); near != "" {
		w.fail(path, "unknown key, did you mean %q?", near)
		return
	}
	w.fail(path, "unknown key, known are %s", strings.Join(known, ", "))
}

func (w *walker) entries(v reflect.Value, raw any, path []string) {
	values, ok := raw.(map[string]any)
	if !ok {
		w.fail(path, "want names below it, got %s", displayed(path, raw))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		element := reflect.New(v.Type().Elem()).Elem()
		w.walk(element, values[key], append(path[:len(path):len(path)], key))
		v.SetMapIndex(reflect.ValueOf(key), element)
	}
}

// elements sets a list; in a text, commas separate the elements.
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
		w.fail(path, "want a list, got %s", displayed(path, raw))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	for i := range list {
		w.walk(v.Index(i), list[i], append(path[:len(path):len(path)], strconv.Itoa(i)))
	}
}

func text(v reflect.Value) string { return fmt.Sprint(v.Interface()) }
