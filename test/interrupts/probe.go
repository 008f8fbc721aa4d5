package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// probe is native.probe, which looks at the calls of one script.
//
//	native.probe.begin()     is the first act below a deadline
//	native.probe.over(way, last)  right after the deadline has been raised; false
//	                         if it has to be measured again, and isn't the last try
//	native.probe.walk(...)   finds the functions that scripts can call
//	native.probe.mark()      as begin, and
//	native.probe.lag()       as over, but for many scripts at once
type probe struct {
	clock *clock.Dual
	yield func()       // as that of the runs
	end   atomic.Int64 // of the deadline that is open, on the fast hand
	late  atomic.Int64 // calls and requests that began after it
	lags  map[string][]time.Duration

	stalls *stalls       // of the machine; nil in fake time
	lost   time.Duration // of it, when the deadline began
	again  int           // measurements that didn't count
	spare  int           // how many more needn't count
	spoilt int           // measurements that count though the machine has stopped

	found map[string]bool // functions, by name

	mu     sync.Mutex // guards marked
	marked []timed
}

// stallMax is how long the machine may have stopped during a measurement that
// counts.
const stallMax = 500 * time.Microsecond

func newProbe(clk *clock.Dual, yield func()) *probe {
	p := &probe{clock: clk, yield: yield, lags: map[string][]time.Duration{}, found: map[string]bool{}}
	p.end.Store(math.MaxInt64)
	return p
}

func (p *probe) module() native.Module {
	return native.Module{Name: "probe", Funcs: []native.Func{
		{Name: "begin", Do: p.begin},
		{Name: "over", Do: p.over},
		{Name: "walk", Do: p.walk},
		{Name: "mark", Do: p.mark},
		{Name: "lag", Do: p.lag},
	}}
}

func (p *probe) begin(c *native.Call) error {
	if p.stalls != nil {
		p.lost = p.stalls.total()
	}
	left, _ := c.Run.Remaining()
	p.end.Store(int64(p.clock.ElapsedMax() + left))
	return nil
}

func (p *probe) over(c *native.Call) error {
	way, last := c.String(1, "way"), lua.LVAsBool(c.Arg(2))
	end := p.end.Swap(math.MaxInt64)
	switch {
	case end == math.MaxInt64 && last:
		return fmt.Errorf("%s: each deadline was over before it began", way)
	case end == math.MaxInt64: // the machine has stopped right there
		p.again++
		return c.Return(lua.LFalse)
	}
	lag := c.Entered().ElapsedMax - time.Duration(end)
	if p.stalls != nil && p.stalls.total()-p.lost > stallMax {
		if !last && p.spare > 0 {
			p.spare--
			p.again++
			return c.Return(lua.LFalse)
		}
		p.spoilt++
	}
	p.lags[way] = append(p.lags[way], lag)
	return c.Return(lua.LTrue)
}

// markKey is where a run keeps the end that it has marked.
type markKey struct{}

func (p *probe) mark(c *native.Call) error {
	left, _ := c.Run.Remaining()
	c.Run.SetValue(markKey{}, p.clock.ElapsedMax()+left)
	return nil
}

func (p *probe) lag(c *native.Call) error {
	if end, ok := c.Run.Value(markKey{}).(time.Duration); ok {
		now := time.Now()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.marked = append(p.marked, timed{now.Add(end - c.Entered().ElapsedMax), now, 10 * time.Millisecond})
		c.Run.SetValue(markKey{}, nil)
	}
	return nil
}

// sent is told of each request to the table. In real time any moment may lie
// between a call's look at the clock and its request, so engines look again:
// what they would refuse doesn't count.
func (p *probe) sent(ctx context.Context) {
	at := p.clock.ElapsedMax()
	if p.stalls == nil || !clock.Ended(ctx) {
		p.began(at)
	}
}

// wrote is told of each request whose call isn't known where it goes out. Only
// fake time stands still in between.
func (p *probe) wrote() {
	if p.stalls == nil {
		p.began(p.clock.ElapsedMax())
	}
}

// began counts what begins after the end.
func (p *probe) began(at time.Duration) {
	if int64(at) > p.end.Load() {
		p.late.Add(1)
	}
}

// watch returns a module whose calls the probe is told of, and what they
// return.
func (p *probe) watch(m native.Module) native.Module {
	m.Funcs = slices.Clone(m.Funcs)
	for i, f := range m.Funcs {
		m.Funcs[i].Do = func(c *native.Call) error {
			p.began(c.Entered().ElapsedMax)
			err := f.Do(c)
			for n := 1; n <= c.L.GetTop(); n++ {
				switch v := c.L.Get(n).(type) {
				case *lua.LUserData:
					p.methods(v.Metatable)
				case *lua.LTable:
					p.methods(v.Metatable)
				}
			}
			return err
		}
	}
	return m
}

// walk notes all functions that can be reached from the globals, and the
// methods of its arguments.
func (p *probe) walk(c *native.Call) error {
	p.fields("", c.Run.Globals(), map[*lua.LTable]bool{})
	for n := 1; n <= c.NArgs(); n++ {
		switch v := c.Arg(n).(type) {
		case *lua.LUserData:
			p.methods(v.Metatable)
		case *lua.LTable:
			p.methods(v.Metatable)
		}
	}
	return nil
}

func (p *probe) fields(path string, t *lua.LTable, seen map[*lua.LTable]bool) {
	seen[t] = true
	vm.Materialize(t)
	t.ForEach(func(key, v lua.LValue) {
		name := path + key.String()
		switch v := v.(type) {
		case *lua.LFunction:
			p.found[name] = true
		case *lua.LUserData:
			p.methods(v.Metatable)
		case *lua.LTable:
			if !seen[v] && name != "native.probe" {
				p.fields(name+".", v, seen)
			}
		}
	})
}

// methods notes the functions in the metatable of a handle, under the name
// that scripts see of it.
func (p *probe) methods(metatable lua.LValue) {
	mt, ok := metatable.(*lua.LTable)
	if !ok {
		return
	}
	kind := mt.RawGetString("__metatable").String() + ":"
	mt.ForEach(func(key, v lua.LValue) {
		switch v := v.(type) {
		case *lua.LFunction:
			p.found[kind+key.String()] = true
		case *lua.LTable:
			v.ForEach(func(name, method lua.LValue) {
				if method.Type() == lua.LTFunction {
					p.found[kind+name.String()] = true
				}
			})
		}
	})
}
