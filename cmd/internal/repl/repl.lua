-- The loop that reads, evaluates and prints lines. Variables that are not local
-- last until the end of the session.
local line, say, evaluate = native.repl.line, native.repl.say, native.repl.evaluate
local limit_ms = 30000

local function show(value)
  if type(value) == "string" then
    return string.format("%q", value)
  end
  if type(value) == "table" and getmetatable(value) ~= "error" then
    local ok, text = pcall(native.json.encode, value)
    if ok then
      return text
    end
  end
  return tostring(value)
end

-- failure shows an error as hosts report it.
local function failure(value)
  if type(value) == "table" and getmetatable(value) ~= "error" then
    local code, message = rawget(value, "code"), rawget(value, "message")
    if code and message then
      return tostring(code) .. ": " .. tostring(message)
    elseif code or message then
      return tostring(code or message)
    end
  end
  return show(value)
end

-- compile returns a function, or nil and the error.
local function compile(text)
  local expression = text:match("^%s*=(.*)$") or text
  local fn = loadstring("return " .. expression, "=line")
  if fn then
    return fn
  end
  return loadstring(text, "=line")
end

local function unfinished(text)
  local fn, why = compile(text)
  return not fn and (why:find("EOF") or why:find("<eof>")) and true or false
end

local function results(ok, ...)
  if not ok then
    say("error: " .. failure((...)))
    return
  end
  local texts = {}
  for i = 1, select("#", ...) do
    texts[i] = show((select(i, ...)))
  end
  if #texts > 0 then
    say(table.concat(texts, "\t"))
  end
end

for text in line, "> " do
  while unfinished(text) do
    local more = line(">> ")
    if not more then
      break
    end
    text = text .. "\n" .. more
  end
  local fn, why = compile(text)
  if fn then
    results(pcall(native.deadline.with, limit_ms, evaluate, fn))
  elseif text:find("%S") then
    say("error: " .. why)
  end
end
