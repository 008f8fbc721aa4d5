-- Imports the names of languages, scripts and regions. Each version of the data
-- is imported once, however often and on how many machines this script starts.
--
--   tidelock run scripts/examples/import.lua --event @scripts/examples/names.json

local BATCH = 100 -- entries of one transaction, at most 100

local function import_everything(event)
  local names, imports = native.db.open("names"), native.db.open("imports")
  local marker = imports:get("names")
  if marker and marker.version == event.version then
    return { skipped = event.version .. " is already there", rows = marker.rows }
  end

  local batch = {}
  for i, row in ipairs(event.rows) do
    batch[#batch + 1] = { "put", names, row.key, { name = row.name } }
    if #batch == BATCH or i == #event.rows then
      native.db.atomic(batch)
      batch = {}
    end
  end

  imports:put("names", { version = event.version, rows = #event.rows })
  return { imported = #event.rows, version = event.version }
end

return function(event)
  -- The lease is enforced: after two minutes this function is stopped, so no second
  -- import ever runs beside a slow first one.
  local ran, result = native.lock.with("import-names", { scope = "db", lease_ms = 120000 }, function()
    return import_everything(event)
  end)
  if not ran then
    return { skipped = "another import is running" }
  end
  return result
end
