package stream

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Streams are those that the host has for a tenant, by name. Each script that
// asks calls the function anew; it must not block, and says by a *outcome.Error
// what scripts are to be told.
type Streams struct {
	Inputs  map[string]func() (Source, error)
	Outputs map[string]func() (Sink, error)
}

// Options say what native.stream has to know.
type Options struct {
	// Of returns the streams of a tenant; nil: nobody has any.
	Of func(tenant.ID) Streams
}

// openMax is how many streams and outputs a run may have opened by name at
// once: each has a buffer.
const openMax = 100

// Module returns the module native.stream.
func Module(o Options) native.Module {
	if o.Of == nil {
		o.Of = func(tenant.ID) Streams { return Streams{} }
	}
	m := module{o}
	return native.Module{Name: "stream", Funcs: []native.Func{
		{Name: "open", Do: m.open},     // (name) -> stream
		{Name: "create", Do: m.create}, // (name) -> output
	}}
}

type module struct{ Options }

// handles is how scripts use streams. It is the same for all runs.
var handles = native.Methods("stream",
	native.Func{Name: "read", Do: read},            // (n?) -> text | nil
	native.Func{Name: "read_all", Do: readAll},     // (limit?) -> text
	native.Func{Name: "lines", Do: lines},          // ({ limit }) -> iterator of text
	native.Func{Name: "json_lines", Do: jsonLines}, // ({ limit }) -> iterator of value
	native.Func{Name: "csv", Do: csvRecords},       // ({ header, separator, comment, lazy_quotes, ragged, limit }) -> iterator of record
	native.Func{Name: "close", Do: closeStream},    // ()
)

var outputs = native.Methods("output",
	native.Func{Name: "write", Do: write},       // (text) -> the output
	native.Func{Name: "close", Do: closeOutput}, // ()
)

// step is what the iterators hand to the loop.
var step = native.Func{Name: "for", Do: next}.Function()

// opened are the streams of a run that aren't closed.
type opened map[interface{ Close() error }]struct{}

type openedKey struct{}

func openedBy(c *native.Call) opened {
	return native.State(c.Run, openedKey{}, func() opened {
		all := opened{}
		c.Run.AtEnd(func() {
			for s := range maps.Clone(all) {
				_ = s.Close() // nobody is left to be told
			}
		})
		return all
	})
}

// Open makes the handle by which the script reads src. It is closed when it has
// been read to its end, and with the run at the latest.
func Open(c *native.Call, src Source) lua.LValue {
	s, all := New(src), openedBy(c)
	s.freed = func() { delete(all, s) }
	all[s] = struct{}{}
	return &lua.LUserData{Value: s, Metatable: handles}
}

func (m module) open(c *native.Call) error {
	name := c.String(1, "name")
	make, err := named(c, "open", name, m.Of(c.Env.Tenant).Inputs)
	if err != nil {
		return err
	}
	src, err := make()
	if err != nil {
		return about(name, failed("open", err, "the stream can't be opened"))
	}
	return c.Return(Open(c, src))
}

func (m module) create(c *native.Call) error {
	name := c.String(1, "name")
	make, err := named(c, "create", name, m.Of(c.Env.Tenant).Outputs)
	if err != nil {
		return err
	}
	sink, err := make()
	if err != nil {
		return about(name, failed("create", err, "the output can't be opened"))
	}
	o, all := NewOutput(sink), openedBy(c)
	o.freed = func() { delete(all, o) }
	all[o] = struct{}{}
	return c.Return(&lua.LUserData{Value: o, Metatable: outputs})
}

// named finds what the host calls name, while the run may open more.
func named[T any](c *native.Call, op, name string, known map[string]func() (T, error)) (func() (T, error), error) {
	make, ok := known[name]
	switch {
	case ok && len(openedBy(c)) >= openMax:
		return nil, about(name, fail(CodeBusy, op, "%d streams are open in this run, which is the most", openMax))
	case ok:
		return make, nil
	case len(known) == 0:
		return nil, about(name, fail(CodeUnknown, op, "there is none of this name: the host has named none"))
	}
	names := slices.Sorted(maps.Keys(known))
	return nil, about(name, fail(CodeUnknown, op, "there is none of this name, only %s", strings.Join(names, ", ")))
}

func about(name string, e *outcome.Error) error {
	e.Key = name
	return e
}

// self takes the handle off the call, so that its other arguments are counted
// as scripts count them.
func self[T any](c *native.Call, what string) (s T) {
	ud, ok := c.Arg(1).(*lua.LUserData)
	if ok {
		s, ok = ud.Value.(T)
	}
	if !ok {
		c.BadArg(1, "self: got %s, want %s: call it with a colon", c.Arg(1).Type(), what)
	}
	c.L.Remove(1)
	return s
}

func streamOf(c *native.Call) *Stream { return self[*Stream](c, "a stream") }

// bytesPerStep is how many bytes that are looked at or copied count as one step.
const bytesPerStep = 64

// CallerOf returns c as one that reads, for modules with sources of their own.
func CallerOf(c *native.Call) Caller {
	return Caller{
		Context: c.Context(), Look: func() { c.Run.CheckInterrupt() }, Grow: native.MemoryCharger(c.Run),
		Step: func(bytes int) { c.Run.Step(bytes / bytesPerStep) },
	}
}

// give returns text, which has cost steps.
func give(c *native.Call, text string, err error) error {
	switch {
	case isEnd(err):
		return c.Return(lua.LNil)
	case err != nil:
		return err
	}
	c.Run.Step(1 + len(text)/bytesPerStep)
	return c.Return(lua.LString(text))
}

func read(c *native.Call) error {
	s, n := streamOf(c), 0
	if c.Arg(1) != lua.LNil {
		n = int(c.Number(1, "n", 1, TextMax))
	}
	text, err := s.Read(CallerOf(c), n)
	return give(c, text, err)
}

func readAll(c *native.Call) error {
	s, max := streamOf(c), DefaultTextMax
	if c.Arg(1) != lua.LNil {
		max = int(c.Number(1, "limit", 1, TextMax))
	}
	text, err := s.ReadAll(CallerOf(c), max)
	return give(c, text, err)
}

// iterator is what lies behind one loop: each of its steps is a call of its
// own.
type iterator func(c *native.Call) error

func loop(c *native.Call, i iterator) error {
	return c.Return(step, &lua.LUserData{Value: i, Metatable: lua.LNil})
}

func next(c *native.Call) error {
	if ud, ok := c.Arg(1).(*lua.LUserData); ok {
		if i, ok := ud.Value.(iterator); ok {
			return i(c)
		}
	}
	c.BadArg(1, "got %s, want what lines, json_lines or csv returned", c.Arg(1).Type())
	return nil
}

func lineMax(o native.Options) int {
	return int(o.Number("limit", DefaultLineMax, 1, LineMax))
}

func lines(c *native.Call) error {
	s, max := streamOf(c), lineMax(c.Options(1, "limit"))
	return loop(c, func(c *native.Call) error {
		line, err := s.Line(CallerOf(c), max)
		return give(c, line, err)
	})
}

func jsonLines(c *native.Call) error {
	s, max := streamOf(c), lineMax(c.Options(1, "limit"))
	records := s.JSONLines(max)
	return loop(c, func(c *native.Call) error {
		value, err := records.Next(CallerOf(c), func(line []byte) (any, error) { return jsonmodule.Decode(c.Run, line) })
		if isEnd(err) {
			return c.Return(lua.LNil)
		} else if err != nil {
			return err
		}
		return c.Return(native.ToLua(c.Run, value))
	})
}

func csvRecords(c *native.Call) error {
	s := streamOf(c)
	o := c.Options(1, "header", "separator", "comment", "lazy_quotes", "ragged", "limit")
	separator, comment := character(c, o, "separator", ','), character(c, o, "comment", 0)
	if separator == comment {
		c.BadArg(1, "comment: the same as separator")
	}
	records := s.CSV(CSVOptions{
		Header: o.Bool("header"), LazyQuotes: o.Bool("lazy_quotes"), Ragged: o.Bool("ragged"),
		Separator: separator, Comment: comment, Max: lineMax(o),
	})
	return loop(c, func(c *native.Call) error {
		caller := CallerOf(c)
		names, fields, err := records.Next(caller)
		if isEnd(err) {
			return c.Return(lua.LNil)
		} else if err != nil {
			return err
		}
		c.Run.Step(1)
		return c.Return(record(c, caller, names, fields))
	})
}

// character reads an option that is one character.
func character(c *native.Call, o native.Options, name string, byDefault rune) rune {
	text := o.String(name, "")
	if !o.Has(name) {
		return byDefault
	}
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) || r == utf8.RuneError || strings.ContainsRune("\"\r\n\x00", r) {
		c.BadArg(1, "%s: got %.16q, want one character, neither quote nor line break", name, text)
	}
	return r
}

// record is a list of fields, or a table by the names of the header.
func record(c *native.Call, caller Caller, names, fields []string) lua.LValue {
	var t *lua.LTable
	if names == nil {
		t = native.MarkList(c.L.CreateTable(len(fields), 0))
	} else {
		t = c.L.CreateTable(0, len(fields))
	}
	size := 0
	for _, field := range fields {
		size += len(field)
	}
	for i, field := range fields {
		c.Run.Step(1)
		// The fields of a record are pieces of one string, which is worth
		// keeping for one that is most of it.
		if len(field) <= size/2 {
			field = cloned(caller, field)
		}
		if names == nil {
			t.RawSetInt(i+1, lua.LString(field))
		} else {
			t.RawSetString(names[i], lua.LString(field))
		}
	}
	return t
}

func closeStream(c *native.Call) error {
	_ = streamOf(c).Close() // nothing that was to be read is lost by it
	return nil
}

func write(c *native.Call) error {
	ud := c.Arg(1)
	o := self[*Output](c, "an output")
	text := c.String(1, "text")
	if err := o.Write(CallerOf(c), text, c.Write()); err != nil {
		return err
	}
	return c.Return(ud)
}

func closeOutput(c *native.Call) error { return self[*Output](c, "an output").Close() }
