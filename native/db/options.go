package db

import (
	"math"
	"slices"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/value"
)

// options reads a table of options as it comes from a script. Its methods
// return the zero value for an option that is not set, and keep the first
// error.
type options struct {
	set value.Map
	err error
}

// readOptions takes nil or a map with none but the known names.
func readOptions(v any, known ...string) *options {
	o := &options{}
	switch v := v.(type) {
	case nil:
	case value.Map:
		o.set = v
	default:
		o.fail("options: got a list, want a table with names")
	}
	for name := range o.set {
		if !slices.Contains(known, name) {
			o.fail("%s", native.UnknownOption(name, known))
			break
		}
	}
	return o
}

func (o *options) fail(format string, args ...any) {
	if o.err == nil {
		o.err = refuse(CodeOption, format, args...)
	}
}

func option[T any](o *options, name, want string) (val T, isSet bool) {
	v, isSet := o.set[name]
	if !isSet {
		return val, false
	}
	val, ok := v.(T)
	if !ok {
		o.fail("%s: got %s, want %s", name, kind(v), want)
	}
	return val, ok
}

// kind names the type of a value in Lua's words.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case value.Null:
		return "null"
	}
	return "table"
}

func (o *options) flag(name string) bool {
	v, _ := option[bool](o, name, "boolean")
	return v
}

func (o *options) text(name string) string {
	v, _ := option[string](o, name, "string")
	return v
}

func (o *options) number(name string) *float64 {
	v, isSet := option[float64](o, name, "number")
	if !isSet {
		return nil
	}
	return &v
}

// ttl reads the option ttl in seconds.
func (o *options) ttl() time.Duration {
	seconds := o.number("ttl")
	if seconds == nil {
		return 0
	}
	if !(*seconds > 0 && *seconds <= ttlMax.Seconds()) {
		o.fail("ttl: got %v, want more than 0 and at most %d seconds", *seconds, int64(ttlMax.Seconds()))
		return 0
	}
	// A lifetime is rounded up anyway, and 0 would mean for ever.
	return max(time.Duration(*seconds*float64(time.Second)), 1)
}

// condition reads the options rev and new.
func (o *options) condition() Condition {
	rev, isSet := option[string](o, "rev", "string")
	if isSet && rev == "" {
		o.fail("rev: got an empty string, want the revision of an entry")
	}
	return Condition{Rev: rev, New: o.flag("new")}
}

// entryPut is [Partition.ToPut] with options as they come from a script.
func (p *Partition) entryPut(key string, v, script any) (Entry, error) {
	o := readOptions(script, "rev", "new", "ttl")
	put := PutOptions{If: o.condition(), TTL: o.ttl()}
	if o.err != nil {
		return Entry{}, about(o.err, "put", key)
	}
	return p.ToPut(key, v, put)
}

// entryDelete is [Partition.ToDelete] likewise.
func (p *Partition) entryDelete(key string, script any) (Entry, error) {
	o := readOptions(script, "rev")
	condition := o.condition()
	if o.err != nil {
		return Entry{}, about(o.err, "delete", key)
	}
	return p.ToDelete(key, condition)
}

// entryCheck is [Partition.ToCheck] likewise.
func (p *Partition) entryCheck(key string, script any) (Entry, error) {
	o := readOptions(script, "rev", "new")
	condition := o.condition()
	if o.err != nil {
		return Entry{}, about(o.err, "check", key)
	}
	return p.ToCheck(key, condition)
}

// entryAdd is [Partition.ToAdd] likewise.
func (p *Partition) entryAdd(key string, delta float64, script any) (Entry, error) {
	o := readOptions(script, "ttl", "min", "max")
	add := AddOptions{TTL: o.ttl(), Min: o.number("min"), Max: o.number("max")}
	if o.err != nil {
		return Entry{}, about(o.err, "add", key)
	}
	return p.ToAdd(key, delta, add)
}

func readStale(v any) (bool, error) {
	o := readOptions(v, "stale")
	return o.flag("stale"), o.err
}

// readList reads the options of a listing of at most limitMax entries.
func readList(v any, limitMax float64) (ListOptions, error) {
	o := readOptions(v, "prefix", "after", "before", "reverse", "limit", "keys", "stale")
	list := ListOptions{
		Prefix: o.text("prefix"), After: o.text("after"), Before: o.text("before"),
		Reverse: o.flag("reverse"), Keys: o.flag("keys"), Stale: o.flag("stale"),
	}
	if limit := o.number("limit"); limit != nil {
		if !(*limit >= 1 && *limit <= limitMax && *limit == math.Trunc(*limit)) {
			o.fail("limit: got %v, want a whole number from 1 to %v", *limit, limitMax)
		} else {
			list.Limit = int(*limit)
		}
	}
	return list, o.err
}
