return function(event)
  print("sleeping")
  native.sleep(event.ms)
end
