package api

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Token is a token that lets its bearer call. Exactly one of Tenant and Operator
// is set.
type Token struct {
	// Name is what logs call its bearer. It is unique among the operators' or the
	// tenant's. The default is the beginning of its hash.
	Name string
	// SHA256 is the SHA-256 of the token's bytes, as 64 hexadecimal digits. The
	// token itself is not stored anywhere. It should be long and random, because
	// the word behind a hash can be guessed.
	SHA256 string
	// Tenant is the tenant whose scripts, invocations and locks the token is for.
	Tenant tenant.ID
	// Operator makes the token one for all tenants.
	Operator bool
}

// caller is who sent a request: an operator, or a tenant.
type caller struct {
	name     string // of the token, "" if there are none
	operator bool
	tenant   tenant.ID
	access   *access // as it was when the request came
}

// may reports whether what belongs to a tenant exists for the caller.
func (c caller) may(id tenant.ID) bool { return c.operator || c.tenant == id }

// keyring holds the tokens. With an empty one every caller is an operator.
type keyring []hashed

type hashed struct {
	sum    [sha256.Size]byte
	caller caller
}

func newKeyring(tokens []Token) (keyring, error) {
	var ring keyring
	for i, t := range tokens {
		one, err := t.hashed()
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		for n, other := range ring {
			switch {
			case other.sum == one.sum:
				return nil, fmt.Errorf("token %d: is the same as token %d: each has a token of its own", i+1, n+1)
			case other.caller == one.caller:
				return nil, fmt.Errorf("token %d: has the name %q of token %d", i+1, t.Name, n+1)
			}
		}
		ring = append(ring, one)
	}
	return ring, nil
}

func (t Token) hashed() (one hashed, err error) {
	sum, err := hex.DecodeString(t.SHA256)
	switch {
	case err != nil || len(sum) != sha256.Size:
		return one, errors.New("want its SHA-256 as 64 hexadecimal digits")
	case t.Operator == (t.Tenant != ""):
		return one, errors.New("want a tenant, or an operator")
	case [sha256.Size]byte(sum) == sha256.Sum256(nil):
		return one, errors.New("is empty")
	}
	if t.Tenant != "" {
		if _, err := tenant.Parse(string(t.Tenant)); err != nil {
			return one, err
		}
	}
	name := cmp.Or(t.Name, "sha256:"+hex.EncodeToString(sum[:4]))
	return hashed{[sha256.Size]byte(sum), caller{name: name, operator: t.Operator, tenant: t.Tenant}}, nil
}

var (
	errNoToken    = errors.New("the request has no valid token: want Authorization: Bearer TOKEN")
	errWrongToken = errors.New("the token is none of those that are known")
)

// caller returns who sent a request. It compares all tokens, each in constant
// time.
func (ring keyring) caller(r *http.Request) (c caller, err error) {
	if len(ring) == 0 {
		return caller{operator: true}, nil
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(token))
	found := 0
	for _, known := range ring {
		if subtle.ConstantTimeCompare(sum[:], known.sum[:]) == 1 {
			c, found = known.caller, 1
		}
	}
	switch {
	case !strings.EqualFold(kind, "Bearer") || token == "" || len(r.Header.Values("Authorization")) != 1:
		return caller{}, errNoToken
	case found == 0:
		return caller{}, errWrongToken
	}
	return c, nil
}
