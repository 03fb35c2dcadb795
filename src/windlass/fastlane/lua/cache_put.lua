-- cache_put: keep a value, unless what the key holds has changed since the loader looked.
-- keys: the value's     args: SHA-1 of what the loader saw ('' for nothing), the value, seconds to keep it
-- returns: kept, or moved (somebody invalidated or stored it meanwhile: this value may be the older one)
local now = redis.call('GET', KEYS[1])
if (now and redis.sha1hex(now) or '') ~= ARGV[1] then
    return 'moved'
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 'kept'
