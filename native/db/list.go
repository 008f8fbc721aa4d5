package db

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// limitDefault and limitMax are how many entries a page has.
	limitDefault = 100
	limitMax     = 1000
	// pageBytesMax ends a page, as [Size] counts its values.
	pageBytesMax = 1 << 20
	// lookAhead is how many rows the second and further requests for a page
	// look at, however few are missing: a long run of expired rows must not
	// cost a request for each.
	lookAhead = 250
	// requestsMax is how many requests one page makes before it ends short.
	requestsMax = 8
)

// ListOptions say which entries of a partition to list. The zero value lists
// all of them in the byte order of their keys.
type ListOptions struct {
	// Prefix is what the keys begin with.
	Prefix string
	// After and Before, if not empty, are keys that the listing starts behind
	// and ends in front of, in its own order. They need not exist.
	After, Before string
	// Reverse lists from the greatest key to the least.
	Reverse bool
	// Limit is how many entries to list, 1 to 1000; 0 means 100.
	Limit int
	// Keys leaves the values out.
	Keys bool
	// Stale allows to miss recent writes, for half the price.
	Stale bool
}

// Page is a part of a listing.
type Page struct {
	Items []Item
	// After is the key to continue with, "" if there is nothing more. It can be
	// set although nothing follows, and the page can even be empty then.
	After string
}

// List lists one page of the partition: it ends after Limit entries, 1 MiB of
// values, or 8 requests, each of which costs one data operation.
func (p *Partition) List(ctx context.Context, account RunScope, o ListOptions) (Page, error) {
	if err := o.check(); err != nil {
		return Page{}, about(err, "list", "")
	}
	if o.Limit == 0 {
		o.Limit = limitDefault
	}
	q, open := o.query(p.tenant.Partition(p.name))
	l := listing{limit: o.Limit}
	for request := 0; request < requestsMax && q.Low <= q.High; request++ {
		// One more than wanted shows whether there is more, and the bound
		// itself doesn't count.
		q.Limit = o.Limit + 1
		if request > 0 {
			q.Limit = max(q.Limit, lookAhead)
		}
		if open != "" {
			q.Limit++
		}
		answer, err := p.query(ctx, account, q)
		if err != nil {
			return Page{}, err
		}
		full := l.take(answer.Items, open, p.db.now())
		switch {
		case full:
			return Page{l.items, l.items[len(l.items)-1].Key}, nil
		case answer.Last == "":
			return Page{l.items, ""}, nil
		}
		l.last = answer.Last
		if q.Reverse {
			q.High, open = l.last, l.last
		} else {
			q.Low = next(l.last)
		}
	}
	return Page{l.items, l.last}, nil
}

// query makes one request for a page.
func (p *Partition) query(ctx context.Context, account RunScope, q Query) (answer QueryResult, err error) {
	c := p.call(ctx, account, "list", "")
	_, err = c.do(func(ctx context.Context) outcome.Attempt {
		q.Now = p.db.now()
		answer = p.db.store.Query(ctx, q)
		return answer.Attempt
	})
	return answer, err
}

// listing collects a page.
type listing struct {
	limit int
	items []Item
	bytes int
	last  string // the last key looked at
}

// take adds the items that are alive, but not that of the key open. It is true
// when the page is full and at least one more item would follow.
func (l *listing) take(items []Item, open string, now int64) (full bool) {
	for _, item := range items {
		if item.Key == open || !item.Alive(now) {
			continue
		}
		size := Size(item.Value)
		if len(l.items) == l.limit || len(l.items) > 0 && l.bytes+size > pageBytesMax {
			return true
		}
		l.items = append(l.items, item)
		l.bytes += size
	}
	return false
}

// next is the least key that sorts behind key.
func next(key string) string { return key + "\x00" }

// query is the range of o's keys, both ends inclusive, as far as that can be
// said: the key open, if not empty, doesn't belong to it. No key is greatest
// in front of another one.
func (o ListOptions) query(partition string) (q Query, open string) {
	q = Query{Partition: partition, Reverse: o.Reverse, KeysOnly: o.Keys, Stale: o.Stale}
	q.Low, q.High = max(o.Prefix, "\x00"), o.Prefix+lastRune
	above, below := o.After, o.Before
	if o.Reverse {
		above, below = below, above
	}
	if above != "" {
		q.Low = max(q.Low, next(above))
	}
	if below != "" && below <= q.High {
		q.High, open = below, below
	}
	return q, open
}

func (o ListOptions) check() error {
	if o.Limit < 0 || o.Limit > limitMax {
		return refuse(CodeOption, "limit: got %d, want 1..%d", o.Limit, limitMax)
	}
	for _, bound := range []struct{ name, key string }{{"prefix", o.Prefix}, {"after", o.After}, {"before", o.Before}} {
		if err := checkBound(bound.name, bound.key); err != nil {
			return err
		}
	}
	return nil
}

// Iterator goes through a listing page by page.
type Iterator struct {
	partition *Partition
	options   ListOptions
	left      int // entries still wanted, negative for all
	page      []Item
	done      bool
}

// Iterate starts a walk through all entries, or the first Limit of them. It
// makes no request yet.
func (p *Partition) Iterate(o ListOptions) (*Iterator, error) {
	left := o.Limit
	if left == 0 {
		left = -1
	}
	o.Limit = min(o.Limit, limitMax)
	if err := o.check(); err != nil {
		return nil, about(err, "each", "")
	}
	return &Iterator{partition: p, options: o, left: left}, nil
}

// Next returns the next entry, nil at the end.
func (w *Iterator) Next(ctx context.Context, account RunScope) (*Item, error) {
	for len(w.page) == 0 {
		if w.done || w.left == 0 {
			return nil, nil
		}
		if w.left > 0 {
			w.options.Limit = min(w.left, limitMax)
		}
		page, err := w.partition.List(ctx, account, w.options)
		if err != nil {
			return nil, about(err, "each", "")
		}
		w.page, w.options.After, w.done = page.Items, page.After, page.After == ""
	}
	item := &w.page[0]
	w.page = w.page[1:]
	if w.left > 0 {
		w.left--
	}
	return item, nil
}
