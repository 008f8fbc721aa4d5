package api

import (
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
	operator bool
	tenant   tenant.ID
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
		sum, err := hex.DecodeString(t.SHA256)
		switch {
		case err != nil || len(sum) != sha256.Size:
			return nil, fmt.Errorf("token %d: want its SHA-256 as 64 hexadecimal digits", i+1)
		case t.Operator == (t.Tenant != ""):
			return nil, fmt.Errorf("token %d: want a tenant, or an operator", i+1)
		case [sha256.Size]byte(sum) == sha256.Sum256(nil):
			return nil, fmt.Errorf("token %d: is empty", i+1)
		}
		if t.Tenant != "" {
			if _, err := tenant.Parse(string(t.Tenant)); err != nil {
				return nil, fmt.Errorf("token %d: %w", i+1, err)
			}
		}
		ring = append(ring, hashed{[sha256.Size]byte(sum), caller{t.Operator, t.Tenant}})
	}
	return ring, nil
}

var errNoToken = errors.New("the request has no valid token: want Authorization: Bearer TOKEN")

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
	if found == 0 || !strings.EqualFold(kind, "Bearer") || len(r.Header.Values("Authorization")) != 1 {
		return caller{}, errNoToken
	}
	return c, nil
}
