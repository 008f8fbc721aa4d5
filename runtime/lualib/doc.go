// Package lualib is Lua 5.1's library for untrusted scripts: base, string,
// table, math, os, coroutine and debug.traceback. It exists because gopher-lua's
// own library can't be interrupted, allocates without a bound and reaches the
// host.
//
// Every loop that a script can make long counts its steps with the run, every
// result is charged to the run before it is made, and a number is checked for
// its range before it becomes an integer, so that all processors agree.
//
// # Differences from Lua 5.1
//
// Absent, because they reach outside of the run or make no sense in it:
// dofile, loadfile, module, newproxy, gcinfo, io, most of os and debug,
// string.dump, string.gfind, table.foreach, table.foreachi, table.setn.
//
// Numbers as text. A whole number is written in full (1e15 is
// 1000000000000000), minus zero as 0; others have 14 digits as in 5.1. tonumber
// takes what 5.1's manual describes: nan and inf are not numbers, a zero byte
// doesn't end a number, and with a base a minus sign gives a negative number.
// Arithmetic reads strings the same way, through their metatable.
//
// Text. A zero byte in a pattern is a character; string.format's %s honours
// __tostring and takes any value, %F exists, %d of a number that doesn't fit
// raises. %c writes a zero byte, %s keeps those in its argument. A string has at
// most 1 GiB. The metatable of strings can't be reached.
//
// Values. tostring shows a number that a run counts up instead of an address.
// A library function has no environment: setfenv and getfenv take Lua
// functions and levels from 1 on of the present coroutine or protected call.
// assert raises a message that isn't a string as it is. A comparison function that contradicts itself gives
// some order and never an error; while sort runs, the table is as it was.
// Lists may be longer than gopher-lua's arrays. Arguments that 5.1 ignores and 5.2
// takes have the meaning of 5.2: of rep, log, xpcall, load and loadstring; so has
// __pairs.
//
// Environment. Local time is UTC on every host. os.clock is the time since the
// start of the run. collectgarbage collects nothing; its count lags behind what
// the run holds. math.random has a generator of its own in each run, with a
// random seed.
package lualib
