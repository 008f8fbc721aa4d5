-- An error far down the call stack; nothing here is over a limit of the compiler.
local function f(n) if n == 0 then error("x") end return (f(n-1)) end
local c = os.clock()
print(pcall(f, 19900))
print("err at depth 19900", os.clock() - c)
