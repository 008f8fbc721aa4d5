package dbtest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/value"
)

// lists go through a partition in the byte order of the keys.
var lists = []contract{
	{"keys are ordered by their bytes", listOrder},
	{"prefix, after, before and reverse combine", listRanges},
	{"pages have limit entries and leave nothing out", listPages},
	{"a page ends at 1 MiB of values", listLarge},
	{"a run of expired rows costs a handful of requests", listExpired},
	{"rows written and deleted between pages move no other row", listChanging},
	{"keys leaves the values out", listKeys},
	{"bad options are refused", listRefused},
	{"an iterator reads as many pages as it needs", iterate},
}

func keysOf(items []db.Item) []string {
	keys := []string{}
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

func (f *Fixture) list(o db.ListOptions) db.Page {
	f.Helper()
	page, err := f.Users.List(f.Context(), f.Scope, o)
	if err != nil {
		f.Fatalf("list %+v: %v", o, err)
	}
	return page
}

func (f *Fixture) wantKeys(o db.ListOptions, want ...string) {
	f.Helper()
	if got := keysOf(f.list(o).Items); !slices.Equal(got, want) {
		f.Errorf("list %+v = %q, want %q", o, got, want)
	}
}

func listOrder(f *Fixture, _ Engine) {
	want := []string{"\x00", "10", "9", "B", "Z", "a", "a\x00", "a\x00b", "aa", "~", "é", "\uFFFD", "𝄞"}
	for _, i := range []int{3, 12, 0, 7, 1, 11, 5, 2, 10, 4, 9, 6, 8} {
		f.Put(want[i], float64(i))
	}
	f.wantKeys(db.ListOptions{}, want...)
	slices.Reverse(want)
	f.wantKeys(db.ListOptions{Reverse: true}, want...)
}

func listRanges(f *Fixture, _ Engine) {
	for _, key := range []string{"a", "a/1", "a/2", "a/2\x00", "a/3", "a0", "b", "\U0010FFFE"} {
		f.Put(key, key)
	}
	o := func(prefix, after, before string, reverse bool) db.ListOptions {
		return db.ListOptions{Prefix: prefix, After: after, Before: before, Reverse: reverse}
	}
	f.wantKeys(o("a/", "", "", false), "a/1", "a/2", "a/2\x00", "a/3")
	f.wantKeys(o("a/", "", "", true), "a/3", "a/2\x00", "a/2", "a/1")
	f.wantKeys(o("a/", "a/2", "", false), "a/2\x00", "a/3")
	f.wantKeys(o("a/", "a/2", "", true), "a/1")
	f.wantKeys(o("a/", "", "a/2", false), "a/1")
	f.wantKeys(o("a/", "", "a/2", true), "a/3", "a/2\x00")
	f.wantKeys(o("a/", "a/1", "a/3", false), "a/2", "a/2\x00")
	f.wantKeys(o("a/", "a/3", "a/1", true), "a/2\x00", "a/2")
	f.wantKeys(o("a/", "", "b", false), "a/1", "a/2", "a/2\x00", "a/3")
	f.wantKeys(o("a/", "b", "", false))
	f.wantKeys(o("a/", "b", "", true), "a/3", "a/2\x00", "a/2", "a/1")
	f.wantKeys(o("a/", "a", "a", false))
	f.wantKeys(o("", "b", "", false), "\U0010FFFE")
	f.wantKeys(o("", "nothing here", "", true), "b", "a0", "a/3", "a/2\x00", "a/2", "a/1", "a")
	f.wantKeys(o("none", "", "", false))
	f.wantKeys(o("\U0010FFFE", "", "", false), "\U0010FFFE")
}

func listPages(f *Fixture, _ Engine) {
	var all []string
	for i := range 25 {
		all = append(all, fmt.Sprintf("k%02d", i))
		f.Put(all[i], float64(i))
	}
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	for _, limit := range []int{1, 2, 5, 24, 25, 26, 1000} {
		for reverse, want := range map[bool][]string{false: all, true: backwards} {
			var got []string
			o := db.ListOptions{Limit: limit, Reverse: reverse}
			for pages := 1; ; pages++ {
				page := f.list(o)
				got = append(got, keysOf(page.Items)...)
				if len(page.Items) > limit || pages > 26 {
					f.Fatalf("page %d has %d entries, limit is %d", pages, len(page.Items), limit)
				}
				if o.After = page.After; o.After == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				f.Errorf("pages of %d have %q, want %q", limit, got, want)
			}
		}
	}
	if page := f.list(db.ListOptions{Limit: 25}); page.After != "" {
		f.Errorf("after the last entry there is another page from %q on", page.After)
	}
}

func listLarge(f *Fixture, _ Engine) {
	for i := range 9 {
		f.Put(fmt.Sprint("k", i), strings.Repeat("x", 300<<10))
	}
	var sizes []int
	o := db.ListOptions{}
	for first := true; first || o.After != ""; first = false {
		page := f.list(o)
		sizes = append(sizes, len(page.Items))
		o.After = page.After
	}
	if want := []int{3, 3, 3}; !slices.Equal(sizes, want) {
		f.Errorf("pages have %v entries of 300 KiB, want %v", sizes, want)
	}
}

func listExpired(f *Fixture, _ Engine) {
	for i := range 500 {
		f.PutWith(fmt.Sprintf("a%03d", i), 1.0, db.PutOptions{TTL: time.Second})
	}
	f.Clock.Advance(5 * time.Minute)
	want := []string{}
	for i := range 10 {
		want = append(want, fmt.Sprint("b", i))
		f.Put(want[i], 1.0)
	}
	f.Scope.Spent = 0
	f.wantKeys(db.ListOptions{Limit: 10}, want...)
	if f.Scope.Spent > 5 {
		f.Errorf("the list cost %d requests, want a handful", f.Scope.Spent)
	}
}

func listChanging(f *Fixture, _ Engine) {
	for _, key := range []string{"a", "c", "e", "g"} {
		f.Put(key, 1.0)
	}
	page := f.list(db.ListOptions{Limit: 2})
	if _, _, err := f.Users.Delete(f.Context(), f.Scope, "c", db.Condition{}); err != nil {
		f.Fatal(err)
	}
	f.Put("b", 1.0)
	f.wantKeys(db.ListOptions{After: page.After}, "e", "g")
}

func listKeys(f *Fixture, _ Engine) {
	rev := f.Put("key", value.Map{"large": strings.Repeat("x", 1000)})
	want := []db.Item{{Key: "key", Row: db.Row{Rev: rev}}}
	if got := f.list(db.ListOptions{Keys: true}).Items; !reflect.DeepEqual(got, want) {
		f.Errorf("got %v, want %v", got, want)
	}
}

func listRefused(f *Fixture, _ Engine) {
	for _, o := range []db.ListOptions{
		{Limit: -1}, {Limit: 1001}, {Prefix: "\xff"}, {After: "a\x80"}, {Before: strings.Repeat("x", 513)}, {Prefix: "\U0010FFFF"},
	} {
		if _, err := f.Users.List(f.Context(), f.Scope, o); err == nil {
			f.Errorf("list %+v is not refused", o)
		}
	}
	if f.Scope.Spent != 0 {
		f.Errorf("refused options cost %d operations", f.Scope.Spent)
	}
}

func iterate(f *Fixture, _ Engine) {
	const rows = 230
	for i := range rows {
		f.Put(fmt.Sprintf("k%03d", i), float64(i))
	}
	for limit, want := range map[int]int{0: rows, 1: 1, 100: 100, 150: 150, 5000: rows} {
		iterator, err := f.Users.Iterate(db.ListOptions{Limit: limit})
		if err != nil {
			f.Fatal(err)
		}
		n := 0
		for ; ; n++ {
			item, err := iterator.Next(f.Context(), f.Scope)
			if err != nil {
				f.Fatal(err)
			}
			if item == nil {
				break
			}
			if got, want := item.Key, fmt.Sprintf("k%03d", n); got != want {
				f.Fatalf("entry %d is %q, want %q", n, got, want)
			}
		}
		if n != want {
			f.Errorf("an iterator with limit %d had %d entries, want %d", limit, n, want)
		}
	}
}
