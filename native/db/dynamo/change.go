package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tidelock-lua/tidelock/native/db"
)

// Conditions. An item that has expired counts as absent.
const (
	ifAbsent = "attribute_not_exists(#p) OR #x <= :now"
	ifRev    = "#r = :rev AND " + ifAlive
	ifAlive  = "(attribute_not_exists(#x) OR #x > :now)"
	ifWhole  = "#t = :i AND #v BETWEEN :low AND :high AND " + ifAlive
	ifCounts = "attribute_not_exists(#p) OR " + ifWhole
)

// Updates. An expiry that the item has is kept.
const (
	addition    = "SET #v = if_not_exists(#v, :zero) + :delta, #r = :new, #t = :i"
	addedExpiry = ", #x = if_not_exists(#x, :expires)"
)

// change is a write as the service wants it.
type change struct {
	update    string // what an Add does
	condition string // "" if there is none
	values    attributes
}

// changeOf translates a write; now is in seconds since 1970.
func changeOf(w db.Write, now int64) change {
	switch {
	case w.Kind == db.Add:
		return additionOf(w, now)
	case w.If.New:
		return change{condition: ifAbsent, values: attributes{":now": number(now)}}
	case w.If.Rev != "":
		return change{condition: ifRev, values: attributes{":now": number(now), ":rev": str(w.If.Rev)}}
	default:
		return change{}
	}
}

// additionOf translates an Add. One to an item that has expired is refused,
// because an update can't replace an item.
func additionOf(w db.Write, now int64) change {
	c := change{
		update: addition,
		// Without a row the number is 0, which may be out of bounds.
		condition: ifWhole,
		values: attributes{
			":now": number(now), ":i": str(typeWhole), ":new": str(w.Rev),
			":zero": number(0), ":delta": number(w.Delta),
			":low": number(w.Low), ":high": number(w.High),
		},
	}
	if w.Low <= 0 && 0 <= w.High {
		c.condition = ifCounts
	}
	if w.Expires != 0 {
		c.update += addedExpiry
		c.values[":expires"] = number(w.Expires)
	}
	return c
}

// text is the condition as the SDK wants it.
func (c change) text() *string {
	if c.condition == "" {
		return nil
	}
	return &c.condition
}

// names are the attributes that the expressions of the change refer to.
func (c change) names() map[string]string { return names(c.update, c.condition) }

// onRefusal requests the item for which the condition does not hold.
func (c change) onRefusal() types.ReturnValuesOnConditionCheckFailure {
	if c.condition == "" {
		return types.ReturnValuesOnConditionCheckFailureNone
	}
	return types.ReturnValuesOnConditionCheckFailureAllOld
}
