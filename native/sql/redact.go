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

// redactor removes the secrets of a database from texts, in each encoding that a
// text may have of them.
type redactor struct {
	mu    sync.Mutex // guards forms
	forms []string   // the longest first
}

// secretsMax is how many forms are kept: those of the latest passwords.
const secretsMax = 64

// add adds a secret.
func (r *redactor) add(secret Secret) {
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

// redact returns text without the secrets.
func (r *redactor) redact(text string) string {
	r.mu.Lock()
	forms := slices.Clone(r.forms)
	r.mu.Unlock()
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for _, f := range forms {
		text = strings.ReplaceAll(text, f, mask)
	}
	return text
}

// messageMax is the most of a server's message that is shown, in bytes.
const messageMax = 1000

// addressPattern matches IP addresses: servers name that of their client.
var addressPattern = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[?\b[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){3,7}\b\]?(:\d+)?`)

// message returns a server's message for scripts: one line of text, without
// secrets and without addresses.
func (r *redactor) message(text string) string {
	text = r.redact(strings.ToValidUTF8(text, "\uFFFD"))
	text = addressPattern.ReplaceAllString(text, "(address)")
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
