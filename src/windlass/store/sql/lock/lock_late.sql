-- lock_late: what time has brought about at locks, and when to look again.
-- params: most int4, lock text (NULL: any)     returns: one row: lapsed text[] (locks with holds whose time has run out), locks text[], waiters uuid[]
-- (that somebody has to look at, and their locks), next_seconds (until there is more; 0: there is now; NULL: nothing is known)
-- Index: lock_hold_expires and lock_wait_look, from their starts: nothing to do costs two probes. Changes nothing.
WITH now_is AS MATERIALIZED (
    SELECT clock_timestamp() AS at
), lapsed AS MATERIALIZED (
    SELECT h.lock FROM windlass.lock_hold h, now_is WHERE h.expires_at <= now_is.at AND ($2::text IS NULL OR h.lock = $2)
    ORDER BY h.expires_at LIMIT $1
), late AS MATERIALIZED (
    SELECT w.lock, w.waiter FROM windlass.lock_wait w, now_is WHERE w.look_at <= now_is.at AND ($2::text IS NULL OR w.lock = $2)
    ORDER BY w.look_at LIMIT $1
)
SELECT ARRAY(SELECT DISTINCT lock FROM lapsed) AS lapsed,
       ARRAY(SELECT DISTINCT lock FROM late) AS locks,
       ARRAY(SELECT DISTINCT waiter FROM late) AS waiters,
       CASE WHEN greatest((SELECT count(*) FROM lapsed), (SELECT count(*) FROM late)) = $1 THEN 0
            ELSE extract(epoch FROM least(
                (SELECT min(h.expires_at) FROM windlass.lock_hold h WHERE h.expires_at > now_is.at),
                (SELECT min(w.look_at) FROM windlass.lock_wait w WHERE w.look_at > now_is.at)) - now_is.at)::float8
       END AS next_seconds
FROM now_is
