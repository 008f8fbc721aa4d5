package lualib

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

var coroutineFunctions = []function{
	{"create", coroutineCreate},
	{"resume", coroutineResume},
	{"running", coroutineRunning},
	{"status", coroutineStatus},
	{"wrap", coroutineWrap},
	{"yield", coroutineYield},
}

func coroutineCreate(c call) int {
	return c.ret(c.run().NewCoroutine(c.function(1)))
}

func coroutineResume(c call) int {
	co := c.coroutine(1)
	n := c.GetTop() - 1
	c.Push(lua.LTrue)
	results, err := c.run().Resume(c.LState, co, 2, n)
	if err != nil {
		c.run().DropTrace()
		return c.retError(err)
	}
	return 1 + results
}

func coroutineRunning(c call) int {
	if co := c.run().RunningCoroutine(); co != nil {
		return c.ret(co)
	}
	return c.ret(lua.LNil)
}

func coroutineStatus(c call) int {
	return c.retText(vm.CoroutineStatus(c.coroutine(1)))
}

// coroutineWrap returns a function that resumes a coroutine each time it is
// called. An error of the body that is a string gets the caller's position in
// front, as in Lua 5.1.
func coroutineWrap(c call) int {
	co := c.run().NewCoroutine(c.function(1))
	return c.ret(vm.NewClosure(c.LState, func(L *lua.LState) int {
		run := vm.Of(L)
		results, err := run.Resume(L, co, 1, L.GetTop())
		if err != nil {
			run.Reraise(L, err)
		}
		return results
	}, co))
}

func coroutineYield(c call) int {
	return c.run().Yield(c.LState, c.GetTop())
}

func (c call) coroutine(n int) *lua.LState {
	co, ok := c.Get(n).(*lua.LState)
	if !ok {
		c.typeError(n, "coroutine")
	}
	return co
}
