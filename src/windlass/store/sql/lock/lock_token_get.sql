-- lock_token_get: whether a lock is held by this token.
-- params: name text, token int8
-- returns: one row: job_id (NULL: a caller's hold), owner, is_held (by anybody, its time not up), was_given (the lock is known, and has
-- given this token or a larger one)
-- Index: primary keys of lock and lock_hold.
SELECT h.job_id, h.owner, coalesce(h.job_id IS NOT NULL OR h.expires_at > clock_timestamp(), false) AS is_held,
       coalesce(l.token >= $2::int8, false) AS was_given
FROM (SELECT $1::text AS name) asked
LEFT JOIN windlass.lock l ON l.name = asked.name
LEFT JOIN windlass.lock_hold h ON h.lock = l.name AND h.token = $2::int8
