// Package compile turns Lua source into a [lua.FunctionProto]. It is the one
// way in for host scripts, require and loadstring alike, and it exists because
// gopher-lua's own way in can't be trusted with hostile sources (its parser and
// compiler recurse, loop quadratically and can't be interrupted) nor, on some
// ordinary programs, with the meaning of the source.
//
// A source passes these stages in order; the first that objects ends the way
// with a [*SyntaxError]:
//
//	bytes     cap, no binary chunk, a leading "#!" line is skipped
//	tokens    nesting, operators of one expression, malformed numbers
//	parse     gopher-lua's parser, whose stack the token stage has bounded
//	depth     operators and elseif steps on one path, by a loop, not recursion
//	rewrite   names, locals, upvalues, constants, jumps and work are counted,
//	          and what gopher-lua would mistranslate is put into other words
//	compile   gopher-lua's compiler
//	finish    bytecode touched up, names cleaned, slack given back
//	cache     by chunk name and hash of the source
//
// # What the rewrite repairs
//
// Each line was seen to differ from Lua 5.1 and has a test.
//
//	x, y = y, x                      sides meet in fresh locals, targets are set last to first
//	r = r and f(r)   (r local)       through a fresh local; the same for r = (f())
//	if false ... while not nil ...   constant conditions and operands are folded away
//	for ... in ... do break end      a harmless local, so that no backward jump meets a jump
//	local f = function() f() end     f in the body is the outer f, not the new local
//	local x ... fn ... break         a break that leaves a captured local becomes a goto
//	goto continue                    closes the locals it leaves, and no others
//	{1, ..., 50, f()}, {..., k = v}  values after each 50th item land where they belong
//	010, 1e999, 0xffffffffffffffff   are 10, infinity and 2^64
//
// Names made here, such as "(value 1)", can't be written in Lua, so no script
// can mean one of them. Lines survive: an error names the line of the source.
//
// # Hidden functions
//
// A chain of ".." makes a string as long as all its operands together in a
// single instruction, unseen by any limit; even two may be half of what a run is
// allowed. It is compiled as a call of a Go function that tells [Limits.Charge]
// the size before the result is made, and writes numbers as Lua does. The call's target is a string literal that occurs nowhere in the
// source; after compiling, that entry of the constant table is replaced by
// the function itself. So the code reaches it without a global, local, upvalue
// or environment, no script can read or replace it, and nobody has to bind
// anything when the proto is instantiated. The long constructors above use the
// same door.
//
// # Sharing
//
// A proto is never written after Compile has returned it, so any number of
// states may run it at the same time: L.NewFunctionFromProto(proto).
package compile
