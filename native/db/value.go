package db

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native/value"
)

// Limits of a value. Each is a little below that of DynamoDB.
const (
	// valueBytesMax bounds the size of a value as [Size] counts it. It leaves
	// 20 KiB of the size of an item for keys and revision.
	valueBytesMax = 380 << 10
	// DepthMax is how deep lists and maps may be nested.
	DepthMax  = 31
	numberMin = 1e-130
	numberEnd = 1e126
)

// checkValue returns the value to store in place of v, which is not to be used any
// more, and its size. Every -0 in it has become 0, so that all engines read back
// the same.
func checkValue(v any) (clean any, size int, err error) {
	if v == nil {
		return nil, 0, refuse(CodeValue, "value: nil (delete removes an entry, native.db.null stores a null)")
	}
	clean, bad := cleanValue(v, 0)
	if bad != nil {
		return nil, 0, refuse(CodeValue, "value%s", bad)
	}
	size = Size(clean)
	if size > valueBytesMax {
		return nil, 0, refuse(CodeTooLarge, "value has %d bytes, want at most %d", size, valueBytesMax)
	}
	return clean, size, nil
}

// cleanValue checks v at the given depth. The path of an error begins after the
// root.
func cleanValue(v any, depth int) (any, *value.Error) {
	switch v := v.(type) {
	case value.Null, bool, string:
		return v, nil
	case float64:
		return cleanNumber(v)
	case value.List:
		if depth == DepthMax {
			return nil, tooDeep()
		}
		for i, element := range v {
			clean, bad := cleanValue(element, depth+1)
			if bad != nil {
				return nil, under("["+strconv.Itoa(i+1)+"]", bad)
			}
			v[i] = clean
		}
		return v, nil
	case value.Map:
		if depth == DepthMax {
			return nil, tooDeep()
		}
		return cleanMap(v, depth)
	default:
		return nil, &value.Error{Reason: fmt.Sprintf("%T can't be stored", v)}
	}
}

// cleanMap goes through the keys in order, so that the first error is always the
// same.
func cleanMap(m value.Map, depth int) (any, *value.Error) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key == "" {
			return nil, &value.Error{Reason: "a map key is empty"}
		}
		if !utf8.ValidString(key) {
			return nil, &value.Error{Reason: fmt.Sprintf("map key %.80q is not valid UTF-8", key)}
		}
		clean, bad := cleanValue(m[key], depth+1)
		if bad != nil {
			return nil, under(member(key), bad)
		}
		m[key] = clean
	}
	return m, nil
}

func cleanNumber(f float64) (any, *value.Error) {
	magnitude := math.Abs(f)
	if f != 0 && !(magnitude >= numberMin && magnitude < numberEnd) {
		return nil, &value.Error{Reason: fmt.Sprintf("number %g, want 0 or a magnitude from 1e-130 to under 1e126", f)}
	}
	if f == 0 {
		return 0.0, nil // of either sign
	}
	return f, nil
}

// under prepends one step to the path of an error.
func under(step string, err *value.Error) *value.Error {
	err.Path = step + err.Path
	return err
}

func tooDeep() *value.Error {
	return &value.Error{Reason: fmt.Sprintf("more than %d lists and maps within each other", DepthMax)}
}

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// member is the step of a path that leads to the key of a map, written as in Lua.
func member(key string) string {
	if namePattern.MatchString(key) {
		return "." + key
	}
	return fmt.Sprintf("[%.80q]", key)
}

// Size is how many bytes v takes at most in an item of DynamoDB: the bytes of
// strings and names, 21 for a number, 3 for a list or map and 1 for each of its
// elements, and 1 for anything else.
func Size(v any) int {
	switch v := v.(type) {
	case float64:
		return 21
	case string:
		return len(v)
	case value.List:
		n := 3
		for _, element := range v {
			n += 1 + Size(element)
		}
		return n
	case value.Map:
		n := 3
		for key, element := range v {
			n += 1 + len(key) + Size(element)
		}
		return n
	default:
		return 1
	}
}
