-- signal_ack: tell a sender that waits.
-- keys: ack     args: who acknowledges, the answer     returns: 'kept', or 'late' when nobody waits (or Redis was flushed)
if redis.call('EXISTS', KEYS[1]) == 0 then return 'late' end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 'kept'
