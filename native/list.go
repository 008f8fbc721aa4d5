package native

import lua "github.com/yuin/gopher-lua"

// ListFunc is native.db.list and native.json.list: it marks a table as a list,
// so that it stays one when it is empty, and returns it.
func ListFunc() Func { return Func{Name: "list", Do: list, Args: 1} }

func list(c *Call) error {
	if c.NArgs() == 0 {
		return c.Return(MarkList(c.L.NewTable()))
	}
	t, ok := c.Arg(1).(*lua.LTable)
	if !ok {
		c.wrongType(1, "", "table")
	}
	if t.Metatable != lua.LNil && !IsList(t) {
		c.BadArg(1, "a table with a metatable of its own can't be marked as a list")
	}
	return c.Return(MarkList(t))
}
