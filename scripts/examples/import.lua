-- Imports the names of languages, scripts and regions, once for each version
-- of the data, however often and wherever it is started.
--
--   tidelock run scripts/examples/import.lua --event @scripts/examples/names.json

local BATCH = 100 -- entries that one transaction takes

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
