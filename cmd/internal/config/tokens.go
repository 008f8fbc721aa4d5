package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Token is a token as a configuration holds it: its hash, and the name of its
// bearer.
type Token struct {
	Name   string // "" if it has none
	SHA256 string // 64 hexadecimal digits
}

// tokenForm matches a token as a configuration holds it.
var tokenForm = regexp.MustCompile(`^(?:([A-Za-z0-9][A-Za-z0-9_.@-]{0,63})=)?sha256:([0-9a-fA-F]{64})$`)

// ParseToken reads a token of a configuration that has been checked.
func ParseToken(text string) (t Token, ok bool) {
	m := tokenForm.FindStringSubmatch(text)
	if m == nil {
		return Token{}, false
	}
	return Token{m[1], strings.ToLower(m[2])}, true
}

// tokens checks that tokens are hashes, that no two bearers have the same one, and
// that the names in one list differ. Errors don't show a value, because it may be
// the token itself.
func (v *validator) tokens(c *Config) {
	hashes := map[string]string{}
	list := func(path string, all []string) {
		names := map[string]string{}
		for i, text := range all {
			at := fmt.Sprintf("%s.%d", path, i)
			t, ok := ParseToken(text)
			if !ok {
				v.fail(at, "want sha256: and the 64 hexadecimal digits of the token's hash, with or without NAME= before it, never the token itself")
				continue
			}
			if other, twice := hashes[t.SHA256]; twice {
				v.fail(at, "the same token as %s%s: each bearer needs its own", placePrefix(v.origins, other), other)
			}
			if other, twice := names[t.Name]; twice && t.Name != "" {
				v.fail(at, "the same name as %s%s: the log could not tell them apart", placePrefix(v.origins, other), other)
			}
			hashes[t.SHA256], names[t.Name] = at, at
		}
	}
	list("task.operator_tokens", c.Task.OperatorTokens)
	for _, id := range slices.Sorted(maps.Keys(c.Tenants)) {
		list("tenants."+id+".tokens", c.Tenants[id].Tokens)
	}
}
