return function(event) return string.rep("x", event.bytes) end
