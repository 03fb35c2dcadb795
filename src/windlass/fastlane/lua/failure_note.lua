-- failure_note: count failures in a row of a target.
-- keys: the breaker     args: failures since the last call, seconds to live
-- returns: failures in a row, as all nodes see them
local failures = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return failures
