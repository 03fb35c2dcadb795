-- lock_renew: give a caller's hold more time, counted from now, if it is still one.
-- params: name text, token int8, ttl float8 seconds     returns: token, expires_at; nothing: it has run out, or was never
-- Index: lock_hold primary key. The lock's row is held (lock_hold_many): else somebody might see it lapse just as it is renewed,
-- and let another in beside it.
UPDATE windlass.lock_hold h SET expires_at = clock_timestamp() + $3::float8 * interval '1 second'
WHERE h.lock = $1 AND h.token = $2 AND h.job_id IS NULL AND h.expires_at > clock_timestamp()
RETURNING h.token, h.expires_at
