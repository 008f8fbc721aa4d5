package db

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// PageMax is the most entries that a page can have.
	PageMax     = 1000
	pageDefault = 100
	// pageBytesMax ends a page, as [Size] counts its values.
	pageBytesMax = 1 << 20
	// refillMin is how many rows the second and further requests for a page read
	// at least, however few are missing: a long run of expired rows must not cost
	// a request for each.
	refillMin = 250
	// requestsMax is how many requests are made for one page before it ends short.
	requestsMax = 8
)

// ListOptions are the options of [Partition.List] and [Partition.Iterate]. The
// zero value lists all entries in the byte order of their keys.
type ListOptions struct {
	// Prefix is what all keys begin with.
	Prefix string
	// After and Before, if not empty, are keys after which the list starts and
	// before which it ends, in its own order. They need not exist.
	After, Before string
	// Reverse lists from the greatest key to the least.
	Reverse bool
	// Limit is how many entries to list, 1 to [PageMax] for a page. 0 means 100
	// for a page, and all for an iterator.
	Limit int
	// Keys leaves the values out.
	Keys bool
	// Stale allows the list to miss recent writes, for half the price in DynamoDB.
	Stale bool
}

// Page is a part of a list.
type Page struct {
	Items []Item
	// After is the option After of the next page, "" if this is the last one. It
	// can be set although no entry follows, even on an empty page.
	After string
}

// List reads one page of the partition. It ends after Limit entries, 1 MiB of
// values or 8 requests, of which each costs one data operation.
func (p *Partition) List(ctx context.Context, scope RunScope, o ListOptions) (Page, error) {
	if err := o.check(); err != nil {
		return Page{}, withContext(err, "list", "")
	}
	if o.Limit == 0 {
		o.Limit = pageDefault
	}
	q, excluded := o.query(p.tenant.Partition(p.name))
	page := pageBuilder{limit: o.Limit}
	for request := 0; request < requestsMax && q.Low <= q.High; request++ {
		// One row more shows whether another page follows, and the excluded one
		// doesn't count.
		q.Limit = o.Limit + 1
		if request > 0 {
			q.Limit = max(q.Limit, refillMin)
		}
		if excluded != "" {
			q.Limit++
		}
		result, err := p.query(ctx, scope, q)
		if err != nil {
			return Page{}, err
		}
		full := page.add(result.Items, excluded, p.db.now())
		switch {
		case full:
			return Page{page.items, page.items[len(page.items)-1].Key}, nil
		case result.Last == "":
			return Page{page.items, ""}, nil
		}
		page.last = result.Last
		if q.Reverse {
			q.High, excluded = page.last, page.last
		} else {
			q.Low = keyAfter(page.last)
		}
	}
	return Page{page.items, page.last}, nil
}

// query makes one request for a page.
func (p *Partition) query(ctx context.Context, scope RunScope, q Query) (result QueryResult, err error) {
	c := p.call(ctx, scope, "list", "")
	_, err = c.do(func(ctx context.Context) outcome.Attempt {
		q.Now = p.db.now()
		result = p.db.store.Query(ctx, q)
		return result.Attempt
	})
	return result, err
}

// pageBuilder collects the entries of a page.
type pageBuilder struct {
	limit int
	items []Item
	bytes int
	last  string // the last key read
}

// add adds the items that have not expired, except that of the key excluded. It
// returns true when the page is full and at least one more item follows.
func (p *pageBuilder) add(items []Item, excluded string, now int64) (full bool) {
	for _, item := range items {
		if item.Key == excluded || !item.Alive(now) {
			continue
		}
		size := Size(item.Value)
		if len(p.items) == p.limit || len(p.items) > 0 && p.bytes+size > pageBytesMax {
			return true
		}
		p.items = append(p.items, item)
		p.bytes += size
	}
	return false
}

// keyAfter is the least key that sorts after key.
func keyAfter(key string) string { return key + "\x00" }

// query is the query for the range of o. Both ends of a query belong to it, but
// there is no greatest key below a given one: so the upper end may be a key that
// doesn't belong to the range. That is excluded, "" if there is none.
func (o ListOptions) query(partition string) (q Query, excluded string) {
	q = Query{Partition: partition, Reverse: o.Reverse, KeysOnly: o.Keys, Stale: o.Stale}
	q.Low, q.High = max(o.Prefix, "\x00"), o.Prefix+lastRune
	above, below := o.After, o.Before
	if o.Reverse {
		above, below = below, above
	}
	if above != "" {
		q.Low = max(q.Low, keyAfter(above))
	}
	if below != "" && below <= q.High {
		q.High, excluded = below, below
	}
	return q, excluded
}

func (o ListOptions) check() error {
	if o.Limit < 0 || o.Limit > PageMax {
		return refuse(CodeOption, "limit: got %d, want 1..%d", o.Limit, PageMax)
	}
	for _, bound := range []struct{ name, key string }{{"prefix", o.Prefix}, {"after", o.After}, {"before", o.Before}} {
		if err := checkBound(bound.name, bound.key); err != nil {
			return err
		}
	}
	return nil
}

// Iterator goes through the entries of a list, page by page.
type Iterator struct {
	partition *Partition
	options   ListOptions
	left      int // entries still to return, negative for all
	page      []Item
	done      bool
}

// Iterate returns an iterator over all entries, or the first Limit of them. It
// makes no request.
func (p *Partition) Iterate(o ListOptions) (*Iterator, error) {
	left := o.Limit
	if left == 0 {
		left = -1
	}
	o.Limit = min(o.Limit, PageMax)
	if err := o.check(); err != nil {
		return nil, withContext(err, "each", "")
	}
	return &Iterator{partition: p, options: o, left: left}, nil
}

// Next returns the next entry, nil at the end.
func (i *Iterator) Next(ctx context.Context, scope RunScope) (*Item, error) {
	for len(i.page) == 0 {
		if i.done || i.left == 0 {
			return nil, nil
		}
		if i.left > 0 {
			i.options.Limit = min(i.left, PageMax)
		}
		page, err := i.partition.List(ctx, scope, i.options)
		if err != nil {
			return nil, withContext(err, "each", "")
		}
		i.page, i.options.After, i.done = page.Items, page.After, page.After == ""
	}
	item := &i.page[0]
	i.page = i.page[1:]
	if i.left > 0 {
		i.left--
	}
	return item, nil
}
