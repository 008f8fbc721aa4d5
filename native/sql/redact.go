package sql

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// mask stands for a secret.
const mask = "***"

// redactor knows the secrets of a database and takes them out of texts, in
// every form in which a text may have them.
type redactor struct {
	mu    sync.Mutex // guards forms
	forms []string   // the longest first
}

// secretsMax is how many forms are kept: those of the last passwords.
const secretsMax = 64

// learn adds a secret.
func (r *redactor) learn(secret Secret) {
	s := string(secret)
	if s == "" {
		return
	}
	quoted, _ := json.Marshal(s) // a string always can be
	forms := []string{
		s, url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:],
		strings.Trim(strconv.Quote(s), `"`), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(s)), base64.RawStdEncoding.EncodeToString([]byte(s)),
		base64.URLEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)),
		strings.ReplaceAll(s, "'", "''"), strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range forms {
		if !slices.Contains(r.forms, f) {
			r.forms = append(r.forms, f)
		}
	}
	if n := len(r.forms) - secretsMax; n > 0 {
		r.forms = r.forms[n:]
	}
	r.forms = slices.Clone(r.forms)
}

// clean returns text without the secrets.
func (r *redactor) clean(text string) string {
	r.mu.Lock()
	forms := slices.Clone(r.forms)
	r.mu.Unlock()
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for _, f := range forms {
		text = strings.ReplaceAll(text, f, mask)
	}
	return text
}

// messageMax is how much of a server's message is shown, in bytes.
const messageMax = 1000

// address is what looks like one: servers name that of who asks.
var address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[?\b[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){3,7}\b\]?(:\d+)?`)

// message is a server's message for scripts: one line of text, without secrets
// and without addresses.
func (r *redactor) message(text string) string {
	text = r.clean(strings.ToValidUTF8(text, "\uFFFD"))
	text = address.ReplaceAllString(text, "(address)")
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
	if len(text) > messageMax {
		text = strings.ToValidUTF8(text[:messageMax], "") + "..."
	}
	return text
}
