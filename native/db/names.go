package db

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// keyBytesMax is the length of the longest key.
const keyBytesMax = 512

// lastRune ends the range of keys with a prefix: no key contains it, and it sorts
// after every rune that one can.
const lastRune = "\U0010FFFF"

// partitionPattern keeps the names that scripts can use apart from reserved ones,
// which begin with "!".
var partitionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func checkPartition(name string) error {
	if !partitionPattern.MatchString(name) {
		return refuse(CodeKey, "partition name %.80q: want 1 to 64 of letters, digits, _ . and -, first a letter or digit", name)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" {
		return refuse(CodeKey, "key is empty")
	}
	return checkBound("key", key)
}

// checkBound checks a key, or another string that keys are compared with.
func checkBound(what, s string) error {
	switch {
	case len(s) > keyBytesMax:
		return refuse(CodeKey, "%s has %d bytes, want at most %d", what, len(s), keyBytesMax)
	case !utf8.ValidString(s):
		return refuse(CodeKey, "%s is not valid UTF-8", what)
	case strings.Contains(s, lastRune):
		return refuse(CodeKey, "%s contains U+10FFFF", what)
	}
	return nil
}
