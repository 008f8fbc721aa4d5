return function(event) return event end
