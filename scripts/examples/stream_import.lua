-- Imports one of the Unihan files of Unicode from a server. Such a file has
-- 100,000 lines and more, like
--
--   U+3400<tab>kCangjie<tab>TM
--
-- The lines are imported as they arrive, so memory doesn't depend on their
-- number. They go into native.db, or with {"sql": "connection"} into a table of
-- PostgreSQL or SQLite. The import can be repeated. While it runs, a second one
-- skips.
--
--   TIDELOCK_LIMITS__MAX_DATA_OPS=200000 \
--   tidelock run scripts/examples/stream_import.lua --allow-net files.example.com --timeout 5m \
--     --event '{"url": "https://files.example.com/Unihan_DictionaryLikeData.txt"}'
--
-- Each put document is one data operation. The file has more lines than the
-- default limit of a run, so the limit is raised.

local BATCH = 100 -- rows of one write; a transaction of native.db takes at most 100

-- batches reads the stream, calls write with lists of up to BATCH records, and
-- returns the number of records.
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

-- Each batch is a transaction. An import that breaks off leaves the batches that
-- it has written, and the next import writes them again.
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

-- The whole import is one transaction. Others see the rows of the previous import
-- until this one is complete.
local function to_table(connection, stream)
  local db = native.sql.open(connection)
  db:exec("CREATE TABLE IF NOT EXISTS unihan (character text, property text, value text, PRIMARY KEY (character, property))")
  return db:transaction(function(tx)
    tx:exec("DELETE FROM unihan")
    return batches(stream, function(batch)
      local places, values = {}, {} -- PostgreSQL and SQLite both accept $1, $2 ...
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
  -- The run's time limit, --timeout, may end before this lease.
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
