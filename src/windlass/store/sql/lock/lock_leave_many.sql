-- lock_leave_many: take away what jobs hold and wait for, what callers give back, and what has run out of time.
-- params: name text[] (locks whose rows the caller holds: nothing else is touched), leaving uuid[] (jobs that have ended, and
--         tickets that are given up), token int8[] (holds of callers that are given back), lapsed text[] (locks whose lapsed
--         holds go), late uuid[] (waiters that somebody had to look at: callers whose time is up go, the others need no look
--         any more, before they are due)
-- returns: seconds (until somebody has to look at one of `late` again; NULL: nobody has to)
-- Index: lock_hold_job, lock_hold primary key; lock_wait_waiter, because a wait list may be long. Whom a caller's transaction
-- has in hand (windlass.debounce) is not waited for: it is looked at again.
WITH now_is AS MATERIALIZED (
    SELECT clock_timestamp() AS at
), ended AS (
    DELETE FROM windlass.lock_hold h WHERE h.job_id = ANY ($2::uuid[]) AND h.lock = ANY ($1::text[])
), over AS (
    DELETE FROM windlass.lock_hold h USING now_is
    WHERE h.lock = ANY ($1::text[]) AND h.job_id IS NULL
      AND (h.token = ANY ($3::int8[]) OR (h.lock = ANY ($4::text[]) AND h.expires_at <= now_is.at))
), left_wait_list AS (
    DELETE FROM windlass.lock_wait w WHERE w.waiter = ANY ($2::uuid[]) AND w.lock = ANY ($1::text[])
), gave_up AS (
    DELETE FROM windlass.lock_wait w USING now_is
    WHERE w.waiter = ANY ($5::uuid[]) AND w.lock = ANY ($1::text[]) AND w.until <= now_is.at
)
UPDATE windlass.lock_wait w SET look_at = coalesce(w.until, CASE WHEN w.since > now_is.at THEN w.since END)
FROM now_is, (SELECT o.lock, o.waiter FROM windlass.lock_wait o WHERE o.waiter = ANY ($5::uuid[]) AND o.lock = ANY ($1::text[])
              FOR NO KEY UPDATE SKIP LOCKED) free
WHERE w.lock = ANY (ARRAY[free.lock]) AND w.waiter = ANY (ARRAY[free.waiter]) AND w.look_at <= now_is.at
  AND (w.until IS NULL OR w.until > now_is.at)
RETURNING extract(epoch FROM w.look_at - now_is.at)::float8 AS seconds
