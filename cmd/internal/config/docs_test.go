package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tidelock-lua/tidelock/native/lock"
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// example returns the file that docs/configuration.md shows.
func example(t *testing.T) string {
	t.Helper()
	_, text, _ := strings.Cut(readPage(t, "configuration.md"), "```yaml\n")
	text, _, ok := strings.Cut(text, "\n```")
	if !ok {
		t.Fatal("the page has no example")
	}
	return text + "\n"
}

// keysOf returns the keys of a configuration, with * for a name or a number.
func keysOf(typ reflect.Type, at string) (keys []string) {
	switch typ.Kind() {
	case reflect.Pointer:
		return keysOf(typ.Elem(), at)
	case reflect.Struct:
		for i := range typ.NumField() {
			if name, ok := typ.Field(i).Tag.Lookup("key"); ok {
				keys = append(keys, keysOf(typ.Field(i).Type, strings.TrimPrefix(at+"."+name, "."))...)
			}
		}
		return keys
	case reflect.Map:
		return keysOf(typ.Elem(), at+".*")
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Struct {
			return keysOf(typ.Elem(), at+".*")
		}
	}
	return []string{at}
}

// keysIn returns the keys that a decoded file has, in the form of keysOf.
func keysIn(v any, at string, typ reflect.Type) (keys []string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if typ.Kind() == reflect.Map {
				keys = append(keys, keysIn(below, at+".*", typ.Elem())...)
				continue
			}
			for i := range typ.NumField() {
				if typ.Field(i).Tag.Get("key") == name {
					keys = append(keys, keysIn(below, strings.TrimPrefix(at+"."+name, "."), typ.Field(i).Type)...)
				}
			}
		}
		return keys
	case []any:
		if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct {
			for _, below := range v {
				keys = append(keys, keysIn(below, at+".*", typ.Elem())...)
			}
			return keys
		}
	}
	return []string{at}
}

// A tenant's limits, hosts and connections have the keys of the general ones.
var repeated = regexp.MustCompile(`^tenants\.\*\.(limits|http|sql)\.`)

// alternatives are the keys that exclude another one of the example, where they
// stand as a comment.
var alternatives = map[string]string{"db.file": "  # file: ", "sql.*.file": "    # file: "}

func TestDocumentationNamesEveryKey(t *testing.T) {
	text := example(t)
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	shown := keysIn(values, "", reflect.TypeFor[Config]())
	for _, key := range keysOf(reflect.TypeFor[Config](), "") {
		comment, isComment := alternatives[key]
		if !slices.Contains(shown, key) && !repeated.MatchString(key) && (!isComment || !strings.Contains(text, "\n"+comment)) {
			t.Errorf("docs/configuration.md doesn't show %s", key)
		}
	}
}

// The example is a configuration, and has each default as the code has it.
func TestDocumentationShowsDefaults(t *testing.T) {
	text := strings.ReplaceAll(example(t), `sha256:...`, hash)
	shown, err := load(t, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]string{}
	for _, v := range shown.Values() {
		byKey[v.Key] = v.Text
		if v.Origin == placeDefault {
			t.Errorf("the page doesn't show %s", v.Key)
		}
	}
	none, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range none.Values() {
		if byKey[v.Key] != v.Text && v.Key != "db.file" { // the example has a table
			t.Errorf("%s: the page shows %q, and the default is %q", v.Key, byKey[v.Key], v.Text)
		}
	}
	if !strings.Contains(text, "# file: ./"+none.DB.File+"      # the embedded engine; the default") {
		t.Errorf("the page has another default of db.file than %s", none.DB.File)
	}
}

// Numbers of the pages that are no defaults.
func TestDocumentationHasTheNumbersOfTheCode(t *testing.T) {
	text := strings.Join(strings.Fields(readPage(t, "configuration.md")), " ")
	for _, want := range []string{
		fmt.Sprintf("how long a row outlives its lease, at least %d;", lock.MinGuard.Milliseconds()),
		fmt.Sprintf("A time is at most %.0fh,", durationMax.Hours()),
		fmt.Sprintf("a count at most %d.", int64(countMax)),
		fmt.Sprintf("of %d bytes at most", secretBytesMax),
		fmt.Sprintf("`lock.max_lease` over %.0fh", leaseMax.Hours()),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/configuration.md doesn't say: %s", want)
		}
	}
	for _, test := range []struct{ text, want string }{
		{fmt.Sprintf("limits: {timeout: %v}", durationMax), ""}, {fmt.Sprintf("limits: {timeout: %v}", durationMax+time.Second), "limits.timeout"},
		{fmt.Sprintf("task: {queue: %d}", int64(countMax)), ""}, {fmt.Sprintf("task: {queue: %d}", int64(countMax)+1), "task.queue"},
		{fmt.Sprintf("lock: {guard_ms: %d}", lock.MinGuard.Milliseconds()), ""}, {fmt.Sprintf("lock: {guard_ms: %d}", lock.MinGuard.Milliseconds()-1), "lock.guard_ms"},
	} {
		if _, err := load(t, test.text, nil); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.text, err)
		}
	}
}

// docs/lambda.md has a table of keys with their defaults.
func TestDocumentationOfLambdaHasKeysAndDefaults(t *testing.T) {
	_, table, _ := strings.Cut(readPage(t, "lambda.md"), "| key | meaning | default |\n| --- | --- | --- |\n")
	table, _, ok := strings.Cut(table, "\n\n")
	if !ok {
		t.Fatal("the page has no table of keys")
	}
	none, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{}
	for _, key := range keysOf(reflect.TypeFor[Lambda](), "lambda") {
		defaults[strings.TrimSuffix(key, ".*")] = "none"
	}
	delete(defaults, "lambda.routes.*.match")
	delete(defaults, "lambda.routes.*.tenant")
	delete(defaults, "lambda.routes.*.script")
	defaults["lambda.routes"], defaults["lambda.embedded_db"], defaults["trace.endpoint"] = "none", fmt.Sprint(none.Lambda.EmbeddedDB), "none"
	for _, v := range none.Values() {
		if _, ok := defaults[v.Key]; ok {
			defaults[v.Key] = v.Text
		}
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		key := strings.Trim(cells[0], "|` ")
		if got := strings.TrimSuffix(cells[2], " |"); defaults[key] != got {
			t.Errorf("%s: the page has the default %q, the code %q", key, got, defaults[key])
		}
		delete(defaults, key)
	}
	for key := range defaults {
		t.Errorf("the page has no row for %s", key)
	}
}
