-- lock_give_back: take away the hold of a caller of the API where nobody waits for it.
-- params: name text (its row is held by lock_row_take), token int8
-- returns: token, owner; nothing where it is not as simple as that, and the caller goes the long way: somebody waits, or this is no
-- hold of a caller that still has time
-- Index: lock_hold primary key, lock_wait_line. By a newer snapshot than the one before the row was held: whoever came to wait
-- has been here, and waits for this very hold. It waits for nobody: a hold that somebody else has in hand is not as simple.
WITH free AS MATERIALIZED (
    SELECT h.token FROM windlass.lock_hold h
    WHERE h.lock = $1 AND h.token = $2::int8 AND h.job_id IS NULL AND h.expires_at > clock_timestamp()
      AND NOT EXISTS (SELECT FROM windlass.lock_wait w
                      WHERE w.lock = $1 AND w.since <= clock_timestamp() AND (w.until IS NULL OR w.until > clock_timestamp()))
    FOR UPDATE SKIP LOCKED
)
DELETE FROM windlass.lock_hold h USING free WHERE h.lock = $1 AND h.token = free.token
RETURNING h.token, h.owner
