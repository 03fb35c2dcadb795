-- signal_done: a signal was handled: mark it with its answer, and take it and its doubles from the list.
-- keys: signals, idem, keys     args: the signal's text, the answer, lifetime of the mark in ms, of the keys in ms
-- returns: how many were taken
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('SADD', KEYS[3], KEYS[2])
redis.call('PEXPIRE', KEYS[3], ARGV[4], 'NX')
return redis.call('LREM', KEYS[1], 0, ARGV[1])
