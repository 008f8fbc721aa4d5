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

// probe is native.probe, which measures the interrupts of one script.
//
//	native.probe.begin()     is called first below a deadline
//	native.probe.raised(context, last)
//	                         is called right after the deadline was raised; it is
//	                         false if the measurement has to be repeated, which
//	                         it never is when last is true
//	native.probe.discover(...)
//	                         finds the functions that scripts can call
//	native.probe.mark()      is begin, and
//	native.probe.lag()       is raised, for many scripts at once
type probe struct {
	clock *clock.Dual
	yield func()       // the Yield of the runs; nil is the one of production
	end   atomic.Int64 // the current deadline, in terms of clock.ElapsedMax
	late  atomic.Int64 // calls and requests that began after the deadline
	lags  map[string][]time.Duration

	stalls        *stallWatcher // nil in fake time
	stalledBefore time.Duration // the total when begin was called
	repeated      int           // measurements that were repeated
	repeatsLeft   int           // how many more measurements may be repeated
	disturbed     int           // measurements that count although the machine stalled

	functions map[string]bool // functions, by name

	mu     sync.Mutex // guards marked
	marked []timed
}

// stallMax is how long the machine may stall during a measurement that counts.
const stallMax = 500 * time.Microsecond

func newProbe(clk *clock.Dual, yield func()) *probe {
	p := &probe{clock: clk, yield: yield, lags: map[string][]time.Duration{}, functions: map[string]bool{}}
	p.end.Store(math.MaxInt64)
	return p
}

func (p *probe) module() native.Module {
	return native.Module{Name: "probe", Funcs: []native.Func{
		{Name: "begin", Do: p.begin},
		{Name: "raised", Do: p.raised},
		{Name: "discover", Do: p.discover},
		{Name: "mark", Do: p.mark},
		{Name: "lag", Do: p.lag},
	}}
}

func (p *probe) begin(c *native.Call) error {
	if p.stalls != nil {
		p.stalledBefore = p.stalls.total()
	}
	left, _ := c.Run.Remaining()
	p.end.Store(int64(p.clock.ElapsedMax() + left))
	return nil
}

func (p *probe) raised(c *native.Call) error {
	context, last := c.String(1, "context"), lua.LVAsBool(c.Arg(2))
	end := p.end.Swap(math.MaxInt64)
	switch {
	case end == math.MaxInt64 && last:
		return fmt.Errorf("%s: each deadline had passed before it began", context)
	case end == math.MaxInt64: // the machine stalled right there
		p.repeated++
		return c.Return(lua.LFalse)
	}
	lag := c.Entered().ElapsedMax - time.Duration(end)
	if p.stalls != nil && p.stalls.total()-p.stalledBefore > stallMax {
		if !last && p.repeatsLeft > 0 {
			p.repeatsLeft--
			p.repeated++
			return c.Return(lua.LFalse)
		}
		p.disturbed++
	}
	p.lags[context] = append(p.lags[context], lag)
	return c.Return(lua.LTrue)
}

// markKey is the key of the deadline that a run has marked.
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

// requestSent is called for each request to a table or stream. In real time any
// amount of time may pass between the poll of a call and its request, so engines
// poll once more: a request that they would refuse does not count.
func (p *probe) requestSent(ctx context.Context) {
	at := p.clock.ElapsedMax()
	if p.stalls == nil || !clock.Ended(ctx) {
		p.startedAt(at)
	}
}

// requestWritten is called for each request whose context is not known where it
// is sent. Only fake time stands still between the call and its request.
func (p *probe) requestWritten() {
	if p.stalls == nil {
		p.startedAt(p.clock.ElapsedMax())
	}
}

// startedAt counts what begins after the deadline.
func (p *probe) startedAt(at time.Duration) {
	if int64(at) > p.end.Load() {
		p.late.Add(1)
	}
}

// watch returns a module that reports its calls and the handles that they return
// to the probe.
func (p *probe) watch(m native.Module) native.Module {
	m.Funcs = slices.Clone(m.Funcs)
	for i, f := range m.Funcs {
		m.Funcs[i].Do = func(c *native.Call) error {
			p.startedAt(c.Entered().ElapsedMax)
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

// discover records all functions that are reachable from the globals, and the
// methods of its arguments.
func (p *probe) discover(c *native.Call) error {
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
			p.functions[name] = true
		case *lua.LUserData:
			p.methods(v.Metatable)
		case *lua.LTable:
			if !seen[v] && name != "native.probe" {
				p.fields(name+".", v, seen)
			}
		}
	})
}

// methods records the functions in the metatable of a handle, under the name
// that scripts see.
func (p *probe) methods(metatable lua.LValue) {
	mt, ok := metatable.(*lua.LTable)
	if !ok {
		return
	}
	kind := mt.RawGetString("__metatable").String() + ":"
	mt.ForEach(func(key, v lua.LValue) {
		switch v := v.(type) {
		case *lua.LFunction:
			p.functions[kind+key.String()] = true
		case *lua.LTable:
			v.ForEach(func(name, method lua.LValue) {
				if method.Type() == lua.LTFunction {
					p.functions[kind+name.String()] = true
				}
			})
		}
	})
}
