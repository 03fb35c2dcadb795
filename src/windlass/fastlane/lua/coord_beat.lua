-- coord_beat: a coordinator lives.
-- keys: the set of all beats     args: id, lifetime in ms, 'renew' or ''     returns: {now in ms, 'new' or 'known'}
-- TIME is the server's: nobody's clock makes anybody look dead. 'new' to somebody who has beaten before: there was a flush.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local added = redis.call('ZADD', KEYS[1], now, ARGV[1])
if added == 1 or ARGV[3] == 'renew' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {now, added == 1 and 'new' or 'known'}
