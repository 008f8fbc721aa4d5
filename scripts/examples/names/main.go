// Command names writes the data set of the example import: the names of
// languages, scripts and regions in several languages, from the CLDR tables of
// golang.org/x/text.
//
//	go generate ./scripts/examples/names
package main

//go:generate go run . ../names.json

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// displays are the languages of the names.
var displays = []string{"ar", "de", "el", "en", "es", "fr", "hi", "ja", "pl", "pt", "ru", "zh"}

type row struct {
	Key  string `json:"key"` // "<language of the name>/<kind>/<code>"
	Name string `json:"name"`
}

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "names:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	rows := []row{}
	for _, d := range displays {
		tag := language.MustParse(d)
		languages, scripts, regions := display.Languages(tag), display.Scripts(tag), display.Regions(tag)
		add := func(kind, code, name string) {
			if name != "" {
				rows = append(rows, row{d + "/" + kind + "/" + code, name})
			}
		}
		letters(2, 3, 'a', func(code string) {
			if l, err := language.ParseBase(code); err == nil && l.String() == code {
				add("language", code, languages.Name(l))
			}
		})
		letters(2, 2, 'A', func(code string) {
			if r, err := language.ParseRegion(code); err == nil && r.String() == code {
				add("region", code, regions.Name(r))
			}
		})
		letters(4, 4, 'a', func(code string) {
			code = string(code[0]-'a'+'A') + code[1:]
			if s, err := language.ParseScript(code); err == nil {
				add("script", code, scripts.Name(s))
			}
		})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Key < rows[j].Key })
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// One row on each line keeps diffs readable.
	fmt.Fprintf(f, "{\"version\": %q,\n\"rows\": [", "CLDR "+display.CLDRVersion)
	for i, r := range rows {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		separator := ","
		if i == 0 {
			separator = ""
		}
		if _, err := fmt.Fprintf(f, "%s\n%s", separator, text); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprint(f, "\n]}\n"); err != nil {
		return err
	}
	return f.Close()
}

// letters calls f with every word of min to max letters, of the 26 letters from
// first on.
func letters(min, max int, first byte, f func(string)) {
	for n := min; n <= max; n++ {
		word := make([]byte, n)
		var extend func(int)
		extend = func(i int) {
			if i == n {
				f(string(word))
				return
			}
			for c := range byte(26) {
				word[i] = first + c
				extend(i + 1)
			}
		}
		extend(0)
	}
}
