// Package docs checks the Markdown pages of the repository.
package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	// link matches the target of an inline link or image, without its title.
	link = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)`)
	// code matches fenced blocks and code spans, in which nothing is a link.
	code = regexp.MustCompile("(?ms)^ {0,3}```.*?^ {0,3}```|`[^`\n]*`")
)

func TestRelativeLinksResolve(t *testing.T) {
	root := os.DirFS("../..")
	links := 0
	for _, page := range pages(t, root) {
		text, err := fs.ReadFile(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets(string(text)) {
			links++
			file := path.Join(path.Dir(page), target)
			if _, err := fs.Stat(root, file); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
			}
		}
	}
	if links < 30 {
		t.Errorf("found %d relative links, want at least 30", links)
	}
}

func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"[a](b.md) and [c](../d.md#part)":       "b.md ../d.md",
		"[web](https://example.com) [here](#x)": "",
		"`[a](b.md)`\n```lua\nt[1](x.y)\n```\n": "",
		`![image](<c.png> "title")`:             "c.png",
	} {
		if got := strings.Join(targets(text), " "); got != want {
			t.Errorf("targets(%q): got %q, want %q", text, got, want)
		}
	}
}

// pages returns the Markdown files below root, hidden folders left out.
func pages(t *testing.T, root fs.FS) (pages []string) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if path.Ext(file) == ".md" {
			pages = append(pages, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// targets returns the files that a page links to, relative to the page. Links
// to the web and within the page are left out.
func targets(text string) (files []string) {
	for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		file, _, _ := strings.Cut(match[1], "#")
		if file != "" && !strings.Contains(file, "://") && !strings.HasPrefix(file, "mailto:") {
			files = append(files, file)
		}
	}
	return files
}
