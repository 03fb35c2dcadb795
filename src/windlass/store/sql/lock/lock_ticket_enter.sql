-- lock_ticket_enter: put a caller of the API into the wait list of a lock, under its ticket.
-- params: name text, ticket uuid, owner text, ttl float8 seconds, wait float8 seconds, rank_lead float8 (seconds by which it stands
--         before those of the lowest priority)     returns: nothing
-- Index: lock_wait primary key. Whoever comes again with the same ticket stands where it stood, for as long as it says now.
INSERT INTO windlass.lock_wait (lock, waiter, owner, ttl_seconds, priority, since, rank, until, look_at)
SELECT $1, $2, $3, $4::float8, 1, now_is.at, now_is.at - $6::float8 * interval '1 second', over.at, over.at
FROM (SELECT clock_timestamp() AS at) now_is, LATERAL (SELECT now_is.at + $5::float8 * interval '1 second' AS at) over
ON CONFLICT (lock, waiter) DO UPDATE
SET until = EXCLUDED.until, look_at = EXCLUDED.look_at, ttl_seconds = EXCLUDED.ttl_seconds
