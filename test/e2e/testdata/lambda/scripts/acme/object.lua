return function(event)
  if event.object.key ~= "a b/é+.csv" then error("got the key " .. event.object.key) end
end
