return function(event)
  if event.body == "bad" then error({ code = "bad_order", message = event.id }) end
end
