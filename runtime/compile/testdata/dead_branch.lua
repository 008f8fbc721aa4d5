-- A loop body that begins with a branch never taken.
for k in pairs({1}) do if false then local x end end
return 1
