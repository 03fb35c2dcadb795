-- coord_say: a coordinator's own word, in its own slot.
-- keys: beat, signals, activity, keys     args: the beat, lifetime in ms, the activity or '', names of keys that have lapsed …
-- returns: how many signals wait. Without an activity (nothing changed) this is two commands: an idle node pays for no more.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if ARGV[3] ~= '' then
    redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[2])
    if #ARGV > 3 then redis.call('SREM', KEYS[4], unpack(ARGV, 4)) end
    redis.call('SADD', KEYS[4], KEYS[1], KEYS[2], KEYS[3], KEYS[4])
    redis.call('PEXPIRE', KEYS[4], ARGV[2])
end
return redis.call('LLEN', KEYS[2])
