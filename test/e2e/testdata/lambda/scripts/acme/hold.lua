return native.lock.with("held", { lease_ms = 60000, wait_ms = 10000 }, function()
  print("holding")
  native.sleep(50000)
end)
