package db

import "time"

// Entry is a write that has been validated and is ready to be sent, as one of
// those of [DB.Atomic].
type Entry struct {
	write Write
	key   string // without the partition
	size  int    // in bytes, for the limit of a transaction
}

// PutOptions are the options of [Partition.Put]. The zero value stores
// unconditionally and for ever.
type PutOptions struct {
	If Condition
	// TTL is how long the row lives, at most [TTLMax]; the moment at which it
	// expires is rounded up to a whole second. 0 means for ever.
	TTL time.Duration
}

// AddOptions are the options of [Partition.Add]. The zero value bounds the sum
// only by ±2^53.
type AddOptions struct {
	// TTL is how long the counter lives if it has no expiry yet, for example
	// because it is new. Its range is that of [PutOptions].TTL; 0 means for ever.
	TTL time.Duration
	// Min and Max bound the sum: an addition that would cross them changes
	// nothing. They are whole numbers; nil means -2^53 and 2^53.
	Min, Max *float64
}

// ToPut returns the entry that stores value under key. The value is not to be
// used any more. Errors have [CodeKey], [CodeValue], [CodeTooLarge] or
// [CodeOption].
func (p *Partition) ToPut(key string, value any, o PutOptions) (Entry, error) {
	expires, err := p.db.expiry(o.TTL)
	if err != nil {
		return Entry{}, withContext(err, "put", key)
	}
	value, size, err := checkValue(value)
	if err != nil {
		return Entry{}, withContext(err, "put", key)
	}
	w := Write{Kind: Put, If: o.If, Value: value, Rev: newRev(), Expires: expires}
	return p.entry("put", key, w, size)
}

// ToDelete returns the entry that removes the row of key, on the condition that
// it has a revision, if one is given.
func (p *Partition) ToDelete(key string, condition Condition) (Entry, error) {
	if condition.New {
		return Entry{}, withContext(refuse(CodeOption, "new: there is nothing to delete"), "delete", key)
	}
	return p.entry("delete", key, Write{Kind: Delete, If: condition}, 0)
}

// ToCheck returns the entry that changes nothing, and stops the transaction if
// condition doesn't hold. The condition can't be empty.
func (p *Partition) ToCheck(key string, condition Condition) (Entry, error) {
	if condition == (Condition{}) {
		return Entry{}, withContext(refuse(CodeOption, "check needs rev or new"), "check", key)
	}
	return p.entry("check", key, Write{Kind: Check, If: condition}, 0)
}

// ToAdd returns the entry that adds delta, a whole number within ±2^53, to the
// whole number under key.
func (p *Partition) ToAdd(key string, delta float64, o AddOptions) (Entry, error) {
	expires, err := p.db.expiry(o.TTL)
	if err != nil {
		return Entry{}, withContext(err, "add", key)
	}
	low, high := int64(-WholeMax), int64(WholeMax)
	for _, number := range []struct {
		name string
		from *float64
		to   *int64
	}{{"min", o.Min, &low}, {"max", o.Max, &high}} {
		if number.from == nil {
			continue
		}
		var ok bool
		if *number.to, ok = Whole(*number.from); !ok {
			return Entry{}, withContext(refuse(CodeOption, "%s: got %v, want a whole number within 2^53 of 0", number.name, *number.from), "add", key)
		}
	}
	n, ok := Whole(delta)
	if !ok {
		return Entry{}, withContext(refuse(CodeValue, "got %v to add, want a whole number within 2^53 of 0", delta), "add", key)
	}
	if low > high {
		return Entry{}, withContext(refuse(CodeOption, "min %d is over max %d", low, high), "add", key)
	}
	w := Write{Kind: Add, Delta: n, Rev: newRev(), Expires: expires, Low: low - n, High: high - n}
	return p.entry("add", key, w, Size(delta))
}

func (p *Partition) entry(op, key string, w Write, size int) (Entry, error) {
	if err := checkKey(key); err != nil {
		return Entry{}, withContext(err, op, key)
	}
	if w.If.New && w.If.Rev != "" {
		return Entry{}, withContext(refuse(CodeOption, "rev and new exclude each other"), op, key)
	}
	w.Key = p.row(key)
	size += len(w.Key.Partition) + len(w.Key.Key) + len(w.Rev)
	return Entry{write: w, key: key, size: size}, nil
}

// asPut returns the put that does what an addition does where there is no row:
// an engine may refuse an Add on a row that has expired. ok is false if the
// bounds of the addition don't allow it.
func (w Write) asPut() (put Write, ok bool) {
	next, ok := w.add(nil)
	if !ok {
		return Write{}, false
	}
	return Write{Kind: Put, Key: w.Key, If: Condition{New: true}, Value: next.Value, Rev: w.Rev, Expires: w.Expires}, true
}
