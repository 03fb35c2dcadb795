-- signal_close: nobody waits any more.
-- keys: ack, keys of the sender     returns: 'closed'
redis.call('UNLINK', KEYS[1])
redis.call('SREM', KEYS[2], KEYS[1])
return 'closed'
