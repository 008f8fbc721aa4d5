package docs

import (
	"fmt"
	"go/constant"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// statement is a part of a page with a number, default or limit, and what holds
// it. A page that has statements has one for each number outside of code: see
// [TestNumbersOfPagesAreHeld].
type statement struct {
	// text is a part of the page, in one line. {native/http.dialTime|s} stands for
	// the value of a constant, exported or not, in a unit: see [inUnit].
	text string
	// by says what holds a text without constants: a folder and the name of a
	// test in it ("native/lock TestBackoff"), or "-" and why nothing has to.
	by string
}

// constantPattern matches references to constants.
var constantPattern = regexp.MustCompile(`\{([a-z0-9/]+)\.([A-Za-z0-9]+)(?:\|([A-Za-z^0-9]+))?\}`)

func TestStatementsOfPagesAreTrue(t *testing.T) {
	for page, list := range statements {
		text := prose(t, page)
		for _, s := range list {
			want, err := s.rendered()
			if err != nil {
				t.Errorf("%s: %q: %v", page, s.text, err)
				continue
			}
			if !strings.Contains(text, want) {
				t.Errorf("%s doesn't say %q, from %q", page, want, s.text)
			}
			if err := s.checkHolder(); err != nil {
				t.Errorf("%s: %q: %v", page, s.text, err)
			}
		}
	}
}

// number matches a number as a word: not the one in a name.
var number = regexp.MustCompile(`(^|[^\w#^.])\d[\d.,]*\w*`)

func TestNumbersOfPagesAreHeld(t *testing.T) {
	for page, list := range statements {
		text := prose(t, page)
		for _, s := range list {
			if want, err := s.rendered(); err == nil {
				text = strings.ReplaceAll(text, want, " ... ")
			}
		}
		text = span.ReplaceAllString(text, "``") // values in code are examples, unless a statement has them
		for _, at := range number.FindAllStringIndex(text, -1) {
			t.Errorf("%s has a number that no statement holds: %q", page, text[max(0, at[0]-60):min(len(text), at[1]+40)])
		}
	}
}

// TestCodesOfPages compares the codes of errors in a package with those in the
// tables of its page.
func TestCodesOfPages(t *testing.T) {
	for page, codes := range errorCodes {
		known := map[string]bool{}
		all, err := constantsOf(codes.folder)
		if err != nil {
			t.Fatal(err)
		}
		for name := range all {
			if v, err := all.value(name); strings.HasPrefix(name, "Code") && err == nil && v.Kind() == constant.String {
				known[constant.StringVal(v)] = true
			}
		}
		if len(known) == 0 {
			t.Errorf("%s has no codes", codes.folder)
		}
		listed := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\|").FindAllStringSubmatch(source(t, page), -1) {
			for _, code := range strings.Split(row[1], ", ") {
				if code = strings.Trim(code, "`"); strings.HasPrefix(code, codes.prefix) {
					listed[code] = true
				}
			}
		}
		if want, got := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(listed)); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, and %s has %v", page, got, codes.folder, want)
		}
	}
}

// rendered returns the text with the values of its constants.
func (s statement) rendered() (string, error) {
	var failed error
	text := constantPattern.ReplaceAllStringFunc(s.text, func(reference string) string {
		parts := constantPattern.FindStringSubmatch(reference)
		all, err := constantsOf(parts[1])
		if err == nil {
			var v constant.Value
			if v, err = all.value(parts[2]); err == nil {
				var text string
				if text, err = inUnit(v, parts[3]); err == nil {
					return text
				}
			}
		}
		failed = fmt.Errorf("%s: %w", reference, err)
		return reference
	})
	return text, failed
}

// inUnit returns a constant as pages write it: without a unit, as a number of
// milliseconds without the unit (ms) or with it (msec), as a power (2^), or with
// the unit as it is.
func inUnit(v constant.Value, unit string) (string, error) {
	if v.Kind() == constant.String {
		return constant.StringVal(v), nil
	}
	f, _ := constant.Float64Val(v)
	divisors := map[string]float64{
		"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ms": float64(time.Millisecond), "msec": float64(time.Millisecond), "s": float64(time.Second), "seconds": float64(time.Second),
		"min": float64(time.Minute), "h": float64(time.Hour),
	}
	if power, ok := strings.CutPrefix(unit, "2^"); ok || unit == "2^" {
		for n := range 64 {
			if f == float64(uint64(1)<<n) {
				return "2^" + strconv.Itoa(n), nil
			}
		}
		return "", fmt.Errorf("%v isn't a power of two%s", v, power)
	}
	divisor, ok := divisors[unit]
	if !ok {
		return "", fmt.Errorf("no unit %q", unit)
	}
	text := strconv.FormatFloat(f/divisor, 'f', -1, 64)
	switch unit {
	case "", "ms":
		return text, nil
	case "msec":
		return text + " ms", nil
	}
	return text + " " + unit, nil
}

// checkHolder returns an error if a statement is held by nothing.
func (s statement) checkHolder() error {
	folder, name, _ := strings.Cut(s.by, " ")
	switch {
	case constantPattern.MatchString(s.text):
		return nil
	case folder == "-" && name != "":
		return nil
	case folder == "" || name == "":
		return fmt.Errorf("nothing holds it")
	}
	files, err := fs.Glob(os.DirFS("../.."), path.Join(folder, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(path.Join("../..", file))
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return nil
		}
	}
	return fmt.Errorf("%s has no test %s", folder, name)
}

var (
	// blocks matches fenced and indented blocks of code.
	blocks = regexp.MustCompile("(?m)^ {0,3}```(?s:.*?)^ {0,3}```|^    .*$")
	span   = regexp.MustCompile("`[^`]*`")
	links  = regexp.MustCompile(`\]\([^)]*\)`)
	spaces = regexp.MustCompile(`\s+`)
)

func source(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(path.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// prose returns a page in one line, without its blocks of code.
func prose(t *testing.T, page string) string {
	t.Helper()
	return spaces.ReplaceAllString(links.ReplaceAllString(blocks.ReplaceAllString(source(t, page), " "), "]()"), " ")
}

func TestConstants(t *testing.T) {
	c := constants{}
	for name, want := range map[string]string{
		"{native/sql.StatementMax|MiB}": "1 MiB", "{native/lock.DefaultMaxLease|ms}": "3600000", "{native/lock.keptMax|s}": "1.4 s", "{native/stream.TextMax|2^}": "2^30",
	} {
		if got, err := (statement{text: name}).rendered(); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
	for _, text := range []string{"{native/sql.nothing}", "{native/none.x}", "{native/sql.StatementMax|ells}"} {
		if got, err := (statement{text: text}).rendered(); err == nil {
			t.Errorf("%s: got %s, want an error", text, got)
		}
	}
	if _, err := c.value("x"); err == nil {
		t.Error("want an error")
	}
}
