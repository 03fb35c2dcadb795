-- signal_open: somebody is about to wait for acknowledgements of a signal.
-- keys: ack, keys of the sender     args: lifetime of the ack in ms, of the keys in ms     returns: 'open'
redis.call('HSET', KEYS[1], '', '')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2], 'NX')
return 'open'
