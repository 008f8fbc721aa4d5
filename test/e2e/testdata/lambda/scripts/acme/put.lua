return native.db.open("entries"):put("key", 1) ~= nil
