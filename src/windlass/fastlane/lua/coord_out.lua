-- coord_out: a coordinator that left beats no more.
-- keys: the set of all beats     args: id     returns: 1, or 0 when it was not in
return redis.call('ZREM', KEYS[1], ARGV[1])
