package lualib

import lua "github.com/yuin/gopher-lua"

// A library function has no environment, because all runs share it.
var environmentFunctions = []function{
	{"getfenv", baseGetEnvironment},
	{"setfenv", baseSetEnvironment},
}

func baseGetEnvironment(c call) int {
	f := c.functionOrLevel()
	if f.IsG {
		c.argumentError(1, "a library function has no environment")
	}
	return c.ret(f.Env)
}

func baseSetEnvironment(c call) int {
	environment := c.table(2)
	f := c.functionOrLevel()
	if f.IsG {
		c.raise("'setfenv' cannot change environment of given object")
	}
	f.Env = environment
	return c.ret(f)
}

// functionOrLevel reads argument 1: a function, or the level of a running one
// (1, the caller, if there is no argument).
func (c call) functionOrLevel() *lua.LFunction {
	if f, ok := c.Get(1).(*lua.LFunction); ok {
		return f
	}
	level := c.integerOr(1, 1)
	if level < 0 {
		c.argumentError(1, "level must be non-negative")
	}
	if level >= 1 {
		if frame, ok := c.GetStack(level); ok {
			// The function of a frame is always known.
			f, _ := c.GetInfo("f", frame, lua.LNil)
			return f.(*lua.LFunction)
		}
	}
	c.argumentError(1, "invalid level")
	return nil
}
