-- signal_push: leave a signal with its target.
-- keys: signals, keys of the target     args: the signal, lifetime of the list in ms, of the keys in ms, how many may wait
-- returns: 'pushed' or 'full'
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[4]) then return 'full' end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3], 'NX')
return 'pushed'
