-- Imports one of the Unihan files of Unicode, 100,000 lines and more of
--
--   U+3400<tab>kCangjie<tab>TM
--
-- as they arrive from a server, so that memory doesn't depend on how many they
-- are: into native.db, or with {"sql": "connection"} into a table of PostgreSQL
-- or SQLite. It may be run again, and while it runs a second one skips.
--
--   TIDELOCK_LIMITS__MAX_DATA_OPS=200000 \
--   tidelock run scripts/examples/stream_import.lua --allow-net files.example.com --timeout 5m \
--     --event '{"url": "https://files.example.com/Unihan_DictionaryLikeData.txt"}'
--
-- Each document that is put is one operation, and there are more than a run may
-- have unless it is told so.

local BATCH = 100 -- rows of one write: what one transaction of native.db takes

-- batches reads the stream, calls write with one list of up to BATCH records
-- after the other, and returns how many records there were.
local function batches(stream, write)
  local count, batch = 0, {}
  for record in stream:csv{ separator = "\t", comment = "#" } do
    count = count + 1
    batch[#batch + 1] = record
    if #batch == BATCH then
      write(batch)
      batch = {}
    end
  end
  if #batch > 0 then
    write(batch)
  end
  return count
end

-- Each batch is a transaction: an import that breaks off leaves those it has
-- done, and the next one puts the same again.
local function to_documents(stream)
  local unihan = native.db.open("unihan")
  return batches(stream, function(batch)
    local puts = {}
    for i, record in ipairs(batch) do
      local character, property, value = record[1], record[2], record[3]
      puts[i] = { "put", unihan, character .. "/" .. property, { value = value } }
    end
    native.db.atomic(puts)
  end)
end

-- All is one transaction: others see the rows of the import before until this
-- one is complete.
local function to_table(connection, stream)
  local db = native.sql.open(connection)
  db:exec("CREATE TABLE IF NOT EXISTS unihan (character text, property text, value text, PRIMARY KEY (character, property))")
  return db:transaction(function(tx)
    tx:exec("DELETE FROM unihan")
    return batches(stream, function(batch)
      local places, values = {}, {} -- both kinds of server take $1, $2 ...
      for i, record in ipairs(batch) do
        local n = #values
        places[i] = ("($%d, $%d, $%d)"):format(n + 1, n + 2, n + 3)
        values[n + 1], values[n + 2], values[n + 3] = record[1], record[2], record[3]
      end
      tx:exec("INSERT INTO unihan VALUES " .. table.concat(places, ", "), unpack(values))
    end)
  end)
end

return function(event)
  -- The run's own limit, --timeout, may well end before this lease.
  local ran, count = native.lock.with("import-unihan", { lease_ms = 600000 }, function()
    local response = native.http.get(event.url, { stream = true })
    if response.status ~= 200 then
      error({ code = "import_source", message = "the server answers " .. response.status })
    end
    if event.sql then
      return to_table(event.sql, response.body)
    end
    return to_documents(response.body)
  end)
  if not ran then
    return { skipped = "another import is running" }
  end
  return { imported = count }
end
