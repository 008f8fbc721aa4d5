// Package streammodule is native.stream and the handles of streams: the Lua face
// of package stream. Modules with sources of their own return them by [Open].
//
//	native.stream.open(name) -> stream
//	native.stream.create(name) -> output
//	stream:read(n?) -> text | nil            stream:read_all(limit?) -> text
//	stream:lines(opts?) -> iterator          stream:json_lines(opts?) -> iterator
//	stream:csv(opts?) -> iterator            stream:close()
//	output:write(text) -> output             output:close()
package streammodule

import (
	"io"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Options configure native.stream.
type Options struct {
	// Streams returns what the host offers a tenant. nil offers nothing.
	Streams func(tenant.ID) stream.Streams
}

// New returns the module native.stream.
func New(o Options) native.Module {
	if o.Streams == nil {
		o.Streams = func(tenant.ID) stream.Streams { return stream.Streams{} }
	}
	m := module{o}
	return native.Module{Name: "stream", Funcs: []native.Func{
		{Name: "open", Do: m.open, Args: 1},     // (name) -> stream
		{Name: "create", Do: m.create, Args: 1}, // (name) -> output
	}}
}

type module struct{ Options }

// streams is the metatable of streams, for all runs.
var streams = native.Methods("stream",
	native.Func{Name: "read", Do: read, Args: 1},                     // (n?) -> text | nil
	native.Func{Name: "read_all", Do: readAll, Args: 1},              // (limit?) -> text
	native.Func{Name: "lines", Do: lines, Args: 1},                   // ({ limit }) -> iterator of text
	native.Func{Name: "json_lines", Do: jsonLines, Args: 1},          // ({ limit }) -> iterator of value
	native.Func{Name: "csv", Do: csvRecords, Args: 1},                // ({ header, separator, comment, lazy_quotes, ragged, limit }) -> iterator of record
	native.Func{Name: "close", Do: closeStream, Args: native.NoArgs}, // ()
)

// outputs is the metatable of outputs.
var outputs = native.Methods("output",
	native.Func{Name: "write", Do: write, Args: 1},                   // (text) -> the output
	native.Func{Name: "close", Do: closeOutput, Args: native.NoArgs}, // ()
)

// step is the function that the loops over lines, json_lines and csv call.
var step = native.Func{Name: "for", Do: next, Args: native.AnyArgs}.Function()

type setKey struct{}

// setOf returns the streams that the run of c has open. They are closed with it.
func setOf(c *native.Call) *stream.Set {
	return native.State(c.Run, setKey{}, func() *stream.Set {
		set := stream.NewSet()
		c.Run.AtEnd(set.Close)
		return set
	})
}

// Open returns the handle by which the script reads src. The source is closed
// when it has been read to its end, and with the run at the latest.
func Open(c *native.Call, src stream.Source) lua.LValue { return handle(setOf(c).Add(src)) }

func handle(s *stream.Stream) lua.LValue { return native.NewHandle(s, streams) }

func (m module) open(c *native.Call) error {
	s, err := setOf(c).Open(m.Streams(c.Env.Tenant), c.String(1, "name"))
	if err != nil {
		return err
	}
	return c.Return(handle(s))
}

func (m module) create(c *native.Call) error {
	o, err := setOf(c).Create(m.Streams(c.Env.Tenant), c.String(1, "name"))
	if err != nil {
		return err
	}
	return c.Return(native.NewHandle(o, outputs))
}

func streamOf(c *native.Call) *stream.Stream { return native.Self[*stream.Stream](c, "a stream") }

func outputOf(c *native.Call) *stream.Output { return native.Self[*stream.Output](c, "an output") }

// bytesPerStep is how many bytes that are looked at or copied count as one step.
const bytesPerStep = 64

// CallerOf returns c as the caller of a stream, for modules that read or build
// text themselves.
func CallerOf(c *native.Call) stream.Caller {
	return stream.Caller{
		Context:        c.Context(),
		CheckInterrupt: func() { c.Run.CheckInterrupt() },
		Charge:         native.MemoryCharger(c.Run),
		Step:           func(bytes int) { c.Run.Step(bytes / bytesPerStep) },
	}
}

// returnText returns what a read has got, nil at the end of the stream.
func returnText(c *native.Call, text string, err error) error {
	switch {
	case err == io.EOF:
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
		n = int(c.Number(1, "n", 1, stream.TextMax))
	}
	text, err := s.Read(CallerOf(c), n)
	return returnText(c, text, err)
}

func readAll(c *native.Call) error {
	s, max := streamOf(c), stream.DefaultTextMax
	if c.Arg(1) != lua.LNil {
		max = int(c.Number(1, "limit", 1, stream.TextMax))
	}
	text, err := s.ReadAll(CallerOf(c), max)
	return returnText(c, text, err)
}

// iterator is the state of one loop. Each of its steps is a call of its own.
type iterator func(c *native.Call) error

func loop(c *native.Call, i iterator) error {
	return c.Return(step, native.NewHandle(i, nil))
}

func next(c *native.Call) error {
	if i, ok := native.HandleOf[iterator](c.Arg(1)); ok {
		return i(c)
	}
	c.BadArg(1, "got %s, want what lines, json_lines or csv returned", c.Arg(1).Type())
	return nil
}

func lineMax(o native.Options) int {
	return int(o.Number("limit", stream.DefaultLineMax, 1, stream.LineMax))
}

func lines(c *native.Call) error {
	s, max := streamOf(c), lineMax(c.Options(1, "limit"))
	return loop(c, func(c *native.Call) error {
		line, err := s.Line(CallerOf(c), max)
		return returnText(c, line, err)
	})
}

func jsonLines(c *native.Call) error {
	s, max := streamOf(c), lineMax(c.Options(1, "limit"))
	records := s.JSONLines(max)
	return loop(c, func(c *native.Call) error {
		value, err := records.Next(CallerOf(c), func(line []byte) (any, error) { return jsonmodule.Decode(c.Run, line) })
		if err == io.EOF {
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
	records := s.CSV(stream.CSVOptions{
		Header: o.Bool("header"), LazyQuotes: o.Bool("lazy_quotes"), Ragged: o.Bool("ragged"),
		Separator: separator, Comment: comment, Max: lineMax(o),
	})
	return loop(c, func(c *native.Call) error {
		names, fields, err := records.Next(CallerOf(c))
		if err == io.EOF {
			return c.Return(lua.LNil)
		} else if err != nil {
			return err
		}
		c.Run.Step(1)
		return c.Return(record(c, names, fields))
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

// record returns a list of fields, or a table by the names of the header.
func record(c *native.Call, names, fields []string) lua.LValue {
	var t *lua.LTable
	if names == nil {
		t = native.MarkList(c.L.CreateTable(len(fields), 0))
	} else {
		t = c.L.CreateTable(0, len(fields))
	}
	for i, field := range fields {
		c.Run.Step(1)
		if names == nil {
			t.RawSetInt(i+1, lua.LString(field))
		} else {
			t.RawSetString(names[i], lua.LString(field))
		}
	}
	return t
}

func closeStream(c *native.Call) error {
	_ = streamOf(c).Close() // a stream loses nothing that it was asked for
	return nil
}

func write(c *native.Call) error {
	handle := c.Arg(1)
	o := outputOf(c)
	text := c.String(1, "text")
	if err := o.Write(CallerOf(c), text, c.Write()); err != nil {
		return err
	}
	return c.Return(handle)
}

func closeOutput(c *native.Call) error { return outputOf(c).Close() }
