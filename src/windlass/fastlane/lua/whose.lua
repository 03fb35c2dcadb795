-- whose: a node says of which database it is.
-- keys: the word of an installation     args: scope of the database, lifetime in ms     returns: 1, or 0: another's word stands
local was = redis.pcall('GET', KEYS[1])
if was and was ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
