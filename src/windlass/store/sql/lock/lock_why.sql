-- lock_why: what keeps a job from each of the locks it waits for.
-- params: job_id uuid, shown int4, counted int4
-- returns: a row a lock: lock, capacity, held, is_limit, rate and rate_due_at (NULL: it has no rate), is_crowded (as many as
-- its rate lets go in a second were let go and have not started), ahead (waiters before it, counted to `counted`), since, job_ids
-- and owners (of the first
-- `shown` holders, oldest first), expires_at (of the hold that runs out first; NULL: none does)
-- Index: lock_wait_waiter, lock_hold primary key, lock_wait_line.
SELECT w.lock, coalesce(l.capacity, 1) AS capacity, w.lock LIKE 'limit/%' AS is_limit, l.rate,
       CASE WHEN l.rate_due_at > now_is.at THEN l.rate_due_at END AS rate_due_at,
       coalesce(l.rate IS NOT NULL AND (SELECT count(*) FROM windlass.lock_hold e JOIN windlass.job j ON j.id = ANY (ARRAY[e.job_id])
                                        WHERE e.lock = w.lock AND j.state = 'queued') >= greatest(1, ceil(l.rate)), false) AS is_crowded,
       held.count AS held, w.since, held.expires_at, held.job_ids, held.owners,
       (SELECT count(*) FROM (
            SELECT FROM windlass.lock_wait f
            WHERE f.lock = w.lock AND (f.rank, f.waiter) < (w.rank, w.waiter) AND f.since <= now_is.at
              AND (f.until IS NULL OR f.until > now_is.at)
            ORDER BY f.lock, f.rank LIMIT $3) before) AS ahead
FROM (SELECT clock_timestamp() AS at) now_is
CROSS JOIN windlass.lock_wait w
LEFT JOIN windlass.lock l ON l.name = w.lock
CROSS JOIN LATERAL (
    SELECT count(*) AS count, min(h.expires_at) AS expires_at,
           (array_agg(h.job_id ORDER BY h.token) FILTER (WHERE h.job_id IS NOT NULL))[1:$2] AS job_ids,
           (array_agg(coalesce(h.owner, 'a caller') ORDER BY h.token) FILTER (WHERE h.job_id IS NULL))[1:$2] AS owners
    FROM windlass.lock_hold h WHERE h.lock = w.lock AND (h.expires_at IS NULL OR h.expires_at > now_is.at)
) held
WHERE w.waiter = $1 AND w.since <= now_is.at
ORDER BY w.lock
