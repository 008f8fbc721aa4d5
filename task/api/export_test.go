package api

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	UnreadTimeout   = unreadTimeout
	BodyTimeout     = bodyTimeout
	ResponseTimeout = responseTimeout
	HeaderMax       = headerMax
	KeyMax          = keyMax
)

// HashOf is the SHA-256 of a token, as [Token] has it.
func HashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
