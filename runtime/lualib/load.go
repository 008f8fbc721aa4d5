package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (lib *Library) loadFunctions() []function {
	return []function{
		{"load", lib.load},
		{"loadstring", lib.loadString},
	}
}

func (lib *Library) loadString(c call) int {
	source := c.text(1)
	return lib.loadChunk(c, c.textOr(2, source), source)
}

// mode reads argument 3, as in Lua 5.2: which kinds of chunk are allowed.
func (c call) mode() (textAllowed bool, mode string) {
	mode = c.textOr(3, "bt")
	return strings.Contains(mode, "t"), mode
}

// load reads a source from a function that returns it chunk by chunk. As in Lua
// 5.1 an error of that function is an error of the source; as in Lua 5.2 the
// source may be a string.
func (lib *Library) load(c call) int {
	if _, ok := c.Get(1).(lua.LString); ok {
		return lib.loadString(c)
	}
	reader, name := c.function(1), c.textOr(2, "=(load)")
	source := buffer{run: c.run()}
	for {
		c.Push(reader)
		n, err := c.run().PCall(c.LState, c.GetTop(), 0)
		if err != nil {
			c.Push(lua.LNil)
			c.Push(err)
			return 2
		}
		var chunk lua.LValue = lua.LNil
		if n > 0 {
			chunk = c.Get(-n)
		}
		c.Pop(1 + n)
		switch chunk := chunk.(type) {
		case lua.LString:
			if chunk == "" {
				return lib.loadChunk(c, name, source.String())
			}
			source.text(string(chunk))
		case lua.LNumber:
			source.text(formatNumber(float64(chunk)))
		case *lua.LNilType:
			return lib.loadChunk(c, name, source.String())
		default:
			c.Push(lua.LNil)
			return 1 + c.retText("reader function must return a string")
		}
	}
}

// loadChunk also reads the mode and the environment that Lua 5.2 takes.
func (lib *Library) loadChunk(c call, name, source string) int {
	environment := c.Env
	if !c.absent(4) {
		environment = c.table(4)
	} else if c.GetTop() >= 4 {
		c.typeError(4, "table")
	}
	if allowed, mode := c.mode(); !allowed {
		c.Push(lua.LNil)
		return 1 + c.retText("attempt to load a text chunk (mode is '"+mode+"')")
	}
	ctx := c.run().Context()
	defer ctx.Stop()
	proto, err := lib.compile(ctx, chunkName(name), source)
	c.run().Step(1 + len(source)/bytesPerStep)
	if err != nil {
		c.Push(lua.LNil)
		return 1 + c.retText(err.Error())
	}
	f := c.NewFunctionFromProto(proto)
	f.Env = environment
	return c.ret(f)
}

// chunkNameMax is the largest size of a chunk's name in messages, in bytes.
const chunkNameMax = 59

// chunkName returns the name of a chunk in messages: a name behind = or @ as it
// is, else the beginning of its source.
func chunkName(name string) string {
	if strings.HasPrefix(name, "=") {
		return strings.Clone(name[1:min(len(name), 1+chunkNameMax)]) // compiled code keeps it
	}
	if strings.HasPrefix(name, "@") {
		if name = name[1:]; len(name) > chunkNameMax {
			name = "..." + name[len(name)-chunkNameMax+3:]
		}
		return name
	}
	const frame = `[string "..."]`
	line, _, more := strings.Cut(name[:min(len(name), chunkNameMax+1)], "\n")
	if more || len(line) > chunkNameMax-len(frame) {
		return `[string "` + line[:min(len(line), chunkNameMax-len(frame))] + `..."]`
	}
	return `[string "` + line + `"]`
}
