package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/value"
)

// Values are stored as CBOR (RFC 8949), which other programs can read. Unlike
// JSON it distinguishes text from bytes. Whole numbers within ±2^53 are integers
// and all others 64-bit floats, so every number is read back as it was. Map keys
// are sorted, so equal values have equal bytes.

// The major types of CBOR, in the upper three bits of an item's first byte.
const (
	majorUnsigned byte = iota << 5
	majorNegative      // -1 - n
	majorBytes
	majorText
	majorList
	majorMap
	_
	majorSimple
)

const (
	simpleFalse = majorSimple | 20
	simpleTrue  = majorSimple | 21
	simpleNull  = majorSimple | 22
	float64Bits = majorSimple | 27
)

// depthMax is how deep a decoded value may be nested. Stored values are less deep
// (see [db.DepthMax]); the limit keeps a damaged file from exhausting the stack.
const depthMax = 64

// encode appends v to b.
func encode(b []byte, v any) []byte {
	switch v := v.(type) {
	case value.Null:
		return append(b, simpleNull)
	case bool:
		if v {
			return append(b, simpleTrue)
		}
		return append(b, simpleFalse)
	case float64:
		return encodeNumber(b, v)
	case string:
		return encodeString(b, v)
	case value.List:
		b = encodeHead(b, majorList, uint64(len(v)))
		for _, element := range v {
			b = encode(b, element)
		}
		return b
	case value.Map:
		b = encodeHead(b, majorMap, uint64(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = encode(encodeString(b, key), v[key])
		}
		return b
	}
	panic(fmt.Sprintf("sqlite: %T is no value", v))
}

func encodeNumber(b []byte, f float64) []byte {
	switch n, whole := db.Whole(f); {
	case !whole:
		return binary.BigEndian.AppendUint64(append(b, float64Bits), math.Float64bits(f))
	case n < 0:
		return encodeHead(b, majorNegative, uint64(-1-n))
	default:
		return encodeHead(b, majorUnsigned, uint64(n))
	}
}

func encodeString(b []byte, s string) []byte {
	major := majorText
	if !utf8.ValidString(s) {
		major = majorBytes
	}
	return append(encodeHead(b, major, uint64(len(s))), s...)
}

// encodeHead appends a major type with its number, in the shortest form.
func encodeHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, major|27), n)
	}
}

var errDamaged = errors.New("a stored value is damaged")

// decode reads the value that b consists of.
func decode(b []byte) (any, error) {
	d := decoder{rest: b}
	v, err := d.value(0)
	if err == nil && len(d.rest) > 0 {
		err = errDamaged
	}
	return v, err
}

type decoder struct{ rest []byte }

func (d *decoder) value(depth int) (any, error) {
	if depth > depthMax || len(d.rest) == 0 {
		return nil, errDamaged
	}
	switch first := d.rest[0]; first {
	case simpleNull, simpleTrue, simpleFalse:
		d.rest = d.rest[1:]
		if first == simpleNull {
			return value.Null{}, nil
		}
		return first == simpleTrue, nil
	case float64Bits:
		if len(d.rest) < 9 {
			return nil, errDamaged
		}
		bits := binary.BigEndian.Uint64(d.rest[1:])
		d.rest = d.rest[9:]
		return math.Float64frombits(bits), nil
	}
	major, n, err := d.head()
	if err != nil {
		return nil, err
	}
	switch major {
	case majorUnsigned:
		return float64(n), nil
	case majorNegative:
		return -1 - float64(n), nil
	case majorBytes, majorText:
		return d.text(n)
	case majorList:
		return d.list(n, depth)
	case majorMap:
		return d.mapping(n, depth)
	}
	return nil, errDamaged
}

// head reads a major type and its number. The number of a string, list or map is
// at most the number of bytes left, since each element has at least one.
func (d *decoder) head() (major byte, n uint64, err error) {
	major, short := d.rest[0]&0xe0, d.rest[0]&0x1f
	d.rest = d.rest[1:]
	if short < 24 {
		n = uint64(short)
	} else {
		size := 1 << (short - 24)
		if short > 27 || len(d.rest) < size {
			return 0, 0, errDamaged
		}
		for _, digit := range d.rest[:size] {
			n = n<<8 | uint64(digit)
		}
		d.rest = d.rest[size:]
	}
	if major >= majorBytes && n > uint64(len(d.rest)) {
		return 0, 0, errDamaged
	}
	return major, n, nil
}

func (d *decoder) text(n uint64) (string, error) {
	if n > uint64(len(d.rest)) {
		return "", errDamaged
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s, nil
}

func (d *decoder) list(n uint64, depth int) (any, error) {
	list := make(value.List, n)
	for i := range list {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func (d *decoder) mapping(n uint64, depth int) (any, error) {
	m := make(value.Map, n)
	for range n {
		key, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errDamaged
		}
		if m[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return m, nil
}
