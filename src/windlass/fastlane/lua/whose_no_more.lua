-- whose_no_more: a node leaves. Others of its database say the word again, if there are any.
-- keys: the word of an installation     args: scope of the database     returns: 1 if the word is gone
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('UNLINK', KEYS[1])
