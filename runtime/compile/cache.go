package compile

import (
	"container/list"
	"crypto/sha256"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// cacheKey identifies a proto. The chunk's name is part of it, because the proto
// carries that name into errors and tracebacks.
type cacheKey struct {
	name string
	sum  [sha256.Size]byte
}

type cacheEntry struct {
	key   cacheKey
	proto *lua.FunctionProto
	bytes int
}

// cache keeps the most recently used protos, up to a number of bytes.
type cache struct {
	bytesMax int

	mu      sync.Mutex // guards what follows
	bytes   int
	entries map[cacheKey]*list.Element
	recent  *list.List // of *cacheEntry, last used first
}

func newCache(bytesMax int) *cache {
	return &cache{bytesMax: bytesMax, entries: map[cacheKey]*list.Element{}, recent: list.New()}
}

func (c *cache) get(key cacheKey) (*lua.FunctionProto, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cacheEntry).proto, true
}

// put keeps proto, unless it is larger than the whole cache, and drops the
// least recently used ones that no longer fit.
func (c *cache) put(key cacheKey, proto *lua.FunctionProto, bytes int) {
	bytes += len(key.name)
	if bytes > c.bytesMax {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[key]; ok {
		return
	}
	c.entries[key] = c.recent.PushFront(&cacheEntry{key: key, proto: proto, bytes: bytes})
	c.bytes += bytes
	for c.bytes > c.bytesMax {
		oldest := c.recent.Remove(c.recent.Back()).(*cacheEntry)
		delete(c.entries, oldest.key)
		c.bytes -= oldest.bytes
	}
}
