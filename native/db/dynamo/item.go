package dynamo

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/value"
)

// attributes are an item, or a part of one, as the SDK has it.
type attributes = map[string]types.AttributeValue

// Names of the attributes of a row.
const (
	attrPartition = "p"
	attrKey       = "k"
	attrValue     = "v"
	attrRev       = "r"
	attrType      = "t" // typeWhole, or not there
	attrExpires   = "x"
)

// typeWhole marks a whole number, which can be added to: a condition can tell a
// number from a string, but not a whole number from another.
const typeWhole = "i"

// encode returns v, which has been checked, as an attribute.
func encode(v any) types.AttributeValue {
	switch v := v.(type) {
	case value.Null:
		return &types.AttributeValueMemberNULL{Value: true}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case float64:
		return &types.AttributeValueMemberN{Value: strconv.FormatFloat(v, 'g', -1, 64)}
	case string:
		if !utf8.ValidString(v) {
			return &types.AttributeValueMemberB{Value: []byte(v)}
		}
		return str(v)
	case value.List:
		list := make([]types.AttributeValue, len(v))
		for i, element := range v {
			list[i] = encode(element)
		}
		return &types.AttributeValueMemberL{Value: list}
	case value.Map:
		m := make(attributes, len(v))
		for key, element := range v {
			m[key] = encode(element)
		}
		return &types.AttributeValueMemberM{Value: m}
	default:
		panic(fmt.Sprintf("%T is no value", v)) // values are checked before they get here
	}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// errForeign is the error for an item that native.db has not written.
var errForeign = errors.New("the item is none of native.db's: it was written by another program")

// decode reads what encode has returned.
func decode(a types.AttributeValue) (any, error) {
	switch a := a.(type) {
	case *types.AttributeValueMemberNULL:
		return value.Null{}, nil
	case *types.AttributeValueMemberBOOL:
		return a.Value, nil
	case *types.AttributeValueMemberN:
		return strconv.ParseFloat(a.Value, 64)
	case *types.AttributeValueMemberS:
		return a.Value, nil
	case *types.AttributeValueMemberB:
		return string(a.Value), nil
	case *types.AttributeValueMemberL:
		return decodeList(a.Value)
	case *types.AttributeValueMemberM:
		return decodeMap(a.Value)
	default:
		return nil, errForeign // missing, or a set
	}
}

func decodeList(elements []types.AttributeValue) (any, error) {
	list := make(value.List, len(elements))
	for i, element := range elements {
		v, err := decode(element)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func decodeMap(fields attributes) (any, error) {
	m := make(value.Map, len(fields))
	for key, field := range fields {
		v, err := decode(field)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}

func keyOf(key db.Key) attributes {
	return attributes{attrPartition: str(key.Partition), attrKey: str(key.Key)}
}

// itemOf is the item of a Put.
func itemOf(w db.Write) attributes {
	item := keyOf(w.Key)
	item[attrValue], item[attrRev] = encode(w.Value), str(w.Rev)
	if _, whole := db.Whole(w.Value); whole {
		item[attrType] = str(typeWhole)
	}
	if w.Expires != 0 {
		item[attrExpires] = number(w.Expires)
	}
	return item
}

// rowOf reads an item, nil if there is none.
func rowOf(item attributes) (*db.Row, error) {
	if len(item) == 0 {
		return nil, nil
	}
	row := headOf(item)
	v, err := decode(item[attrValue])
	if err != nil || row.Rev == "" {
		return nil, errors.Join(errForeign, err)
	}
	row.Value = v
	return &row, nil
}

// headOf reads an item without its value.
func headOf(item attributes) db.Row {
	return db.Row{Rev: textOf(item, attrRev), Expires: integerOf(item, attrExpires)}
}

// textOf reads a string attribute, "" if it is missing or of another type.
func textOf(item attributes, name string) string {
	switch a := item[name].(type) {
	case *types.AttributeValueMemberS:
		return a.Value
	case *types.AttributeValueMemberB:
		return string(a.Value)
	}
	return ""
}

// integerOf reads a number attribute, 0 if it is missing or of another type.
// Fractions are cut.
func integerOf(item attributes, name string) int64 {
	a, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	f, err := strconv.ParseFloat(a.Value, 64)
	if err != nil {
		return 0
	}
	return int64(f)
}

var placeholder = regexp.MustCompile(`#(\w+)`)

// names are the attributes that the expressions refer to as #name: some names are
// reserved words, and the service refuses names that aren't used.
func names(expressions ...string) map[string]string {
	var all map[string]string
	for _, expression := range expressions {
		for _, name := range placeholder.FindAllStringSubmatch(expression, -1) {
			if all == nil {
				all = make(map[string]string)
			}
			all[name[0]] = name[1]
		}
	}
	return all
}
