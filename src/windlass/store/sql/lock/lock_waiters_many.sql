-- lock_waiters_many: how much of locks is free, and who waits for them, in order.
-- params: name text[] (their rows are held), waiters_max int4, patience float8 seconds
-- returns: name, free, by_rate (places are left, and its rate lets nobody go), and of each of the first to wait waiter, rank, keeps_capacity, locks (all that it wants); a lock of which
-- nothing is free, or that nobody waits for, is one row without a waiter
-- Index: lock primary key; lock_hold primary key, as many rows as there are holds; lock_wait_line, `waiters_max` rows a lock.
-- Read after the rows are held, by a newer snapshot: what it says is so until the commit. Holds whose time has run out do not
-- count, whether they are gone yet or not. Of a limit with a rate so many are free as have come due; who was let go and has not
-- started (no slot, a paused queue) counts against a second's worth of them, so that no crowd gathers that starts at once.
SELECT l.name, room.free, room.by_rate, w.waiter, w.rank, w.since <= now_is.at - $3::float8 * interval '1 second' AS keeps_capacity,
       ARRAY(SELECT other.lock FROM windlass.lock_wait other WHERE other.waiter = w.waiter) AS locks
FROM (SELECT clock_timestamp() AS at) now_is
CROSS JOIN windlass.lock l
CROSS JOIN LATERAL (
    SELECT least(l.capacity - count(*), CASE WHEN l.rate IS NOT NULL THEN least(
               windlass.rate_room(l.rate, l.rate_due_at, now_is.at),
               greatest(1, ceil(l.rate)) - (SELECT count(*) FROM windlass.lock_hold early JOIN windlass.job j ON j.id = ANY (ARRAY[early.job_id])
                                            WHERE early.lock = l.name AND j.state = 'queued')) END)::bigint AS free,
           l.rate IS NOT NULL AND count(*) < l.capacity AS by_rate
    FROM windlass.lock_hold h
    WHERE h.lock = l.name AND (h.expires_at IS NULL OR h.expires_at > now_is.at)
) room
LEFT JOIN LATERAL (
    SELECT one.waiter, one.rank, one.since FROM windlass.lock_wait one
    WHERE one.lock = l.name AND room.free > 0 AND one.since <= now_is.at AND (one.until IS NULL OR one.until > now_is.at)
    ORDER BY one.lock, one.rank LIMIT $2
) w ON true
WHERE l.name = ANY ($1::text[])
