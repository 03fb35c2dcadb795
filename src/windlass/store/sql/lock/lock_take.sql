-- lock_take: give a caller of the API a hold of a lock that has capacity free while nobody waits for it.
-- params: name text, ticket uuid, owner text, ttl float8 seconds
-- returns: lock, token, expires_at, capacity; nothing where it is not as simple as that, and the caller goes the long way: the
-- lock is new or its row in somebody's hand, it is taken, a hold that ran out is still there, somebody waits, or the ticket is known
-- Index: primary keys of lock and lock_hold; lock_wait_line; lock_hold_ticket. One statement and no wait, for what is usual; and
-- no row of the wait list, which would stay for as long as any transaction is open and be read over by everybody.
-- Holds are read by the snapshot from before the row was locked. Every grant raises the lock's token: the same token in both
-- says that there was none in between. Who came to wait in between is passed by: he waits no longer than if he
-- had come a moment later.
WITH now_is AS MATERIALIZED (
    SELECT clock_timestamp() AS at
), seen AS MATERIALIZED (
    SELECT l.token FROM windlass.lock l WHERE l.name = $1
), own AS MATERIALIZED (
    SELECT l.name, l.token, l.capacity FROM windlass.lock l WHERE l.name = $1 FOR NO KEY UPDATE SKIP LOCKED
), free AS MATERIALIZED (
    SELECT own.name, own.capacity
    FROM own JOIN seen ON seen.token = own.token CROSS JOIN now_is
    WHERE (SELECT count(*) FROM windlass.lock_hold h WHERE h.lock = own.name) < own.capacity
      AND NOT EXISTS (SELECT FROM windlass.lock_wait w
                      WHERE w.lock = own.name AND w.since <= now_is.at AND (w.until IS NULL OR w.until > now_is.at))
      AND NOT EXISTS (SELECT FROM windlass.lock_hold h WHERE h.ticket = $2::uuid)
), held AS (
    INSERT INTO windlass.lock_hold (lock, token, ticket, owner, expires_at)
    SELECT free.name, nextval('windlass.lock_token'), $2::uuid, $3, clock_timestamp() + $4::float8 * interval '1 second' FROM free
    RETURNING lock, token, expires_at
), newest AS (
    UPDATE windlass.lock l SET token = held.token, changed_at = clock_timestamp() FROM held WHERE l.name = held.lock
)
SELECT held.lock, held.token, held.expires_at, free.capacity FROM held CROSS JOIN free
