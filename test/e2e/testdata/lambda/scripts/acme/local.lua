return function(event)
  local _, result = native.lock.with("job", { scope = "local" }, function() return event end)
  return result
end
