-- All names that scripts have: tables as tables, the rest as null.
local seen = {}

local function names(t)
  local out = {}
  for name, value in pairs(t) do
    if type(value) == "table" and not seen[value] then
      seen[value] = true
      out[name] = names(value)
    else
      out[name] = native.json.null
    end
  end
  return out
end

seen[_G] = true
return names(_G)
