-- signal_acks: who has acknowledged.
-- keys: ack     returns: {id, answer, …}; the empty id stands for "open"
return redis.call('HGETALL', KEYS[1])
