return function(event)
  return { status = 201, headers = { ["X-Path"] = event.path }, cookies = { "a=1; Path=/", "b=2" }, body = event.body }
end
