// Package compile turns Lua source into a [lua.FunctionProto]. Host scripts,
// require and loadstring all go through it. It exists because gopher-lua's own
// parser and compiler can't be trusted with hostile sources (they recurse, have
// quadratic loops and can't be interrupted), and because they mistranslate some
// ordinary programs.
//
// A source passes these stages in order; the first that refuses it returns a
// [*SyntaxError]:
//
//	bytes     largest size, no binary chunk, a leading "#!" line is skipped
//	escapes   \x41, \u{20AC} and \z are replaced, \300 is refused
//	tokens    nesting, operators of one expression, malformed numbers
//	parse     gopher-lua's parser, whose stack the token stage has bounded
//	depth     operators and elseif steps on one path, by a loop, not recursion
//	rewrite   names, locals, upvalues, constants, jumps and work are counted,
//	          and what gopher-lua would mistranslate is rewritten
//	compile   gopher-lua's compiler
//	patch     bytecode corrected, names made printable, spare memory given back
//	cache     by chunk name and hash of the source
//
// # What the rewrite repairs
//
// Each line was seen to differ from Lua 5.1 and has a test.
//
//	x, y = y, x                      sides meet in fresh locals, targets are set last to first
//	r = r and f(r)   (r local)       through a fresh local; the same for r = (f())
//	if false ... while not nil ...   constant conditions and operands are folded away
//	for ... in ... do break end      an unused local, so that no backward jump meets a jump
//	local f = function() f() end     f in the body is the outer f, not the new local
//	local x ... fn ... break         a break that leaves a captured local becomes a goto
//	goto continue                    closes the locals it leaves, and no others
//	{1, ..., 50, f()}, {..., k = v}  values after each 50th item land where they belong
//	for k, v in next, t do           fewer than three iterator values are filled with nil
//	7 % 0.01                         constants have Lua's remainder
//	010, 1e999, 0xffffffffffffffff   are 10, infinity and 2^64
//
// Names made here, such as "(value 1)", can't be written in Lua, so no script
// can refer to one of them. Lines are kept: an error names the line of the source.
//
// # Intrinsics
//
// An intrinsic is a Go function that compiled code calls and scripts can't
// name. Concatenation is one: gopher-lua's instruction for a chain of ".." makes
// a string as long as all its operands together, before any limit sees it; even
// two may be half of what a run is allowed. So the chain is compiled as a call
// of an intrinsic that calls [Limits.Charge] with the size before it makes the
// result, and writes numbers as Lua does. The long constructors above need the
// other one.
//
// The target of such a call is a string literal that occurs nowhere in the
// source. After compiling, the patcher replaces that entry of the constant table
// by the function itself. So the code reaches it without a global, local,
// upvalue or environment, no script can read or replace it, and nothing has to
// be bound when the proto is instantiated.
//
// # Sharing
//
// A proto is never written after Compile has returned it, so any number of
// states may run it at the same time: L.NewFunctionFromProto(proto).
package compile
