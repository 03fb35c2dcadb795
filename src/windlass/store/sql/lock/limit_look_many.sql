-- limit_look_many: have somebody look at limits when their rate lets the next one go.
-- params: name text[] (locks whose rows the caller holds), soonest float8 (seconds; nobody looks sooner), again float8 (seconds, until
--         the next look at a limit whose jobs were let go and have not started; where the rate is slow a tenth of its pace,
--         10 seconds at most: a paused queue may have a limit for each of many thousand values)
-- returns: seconds (until then)     Nothing where nobody waits, or not for the rate: who frees a place, or another lock, looks.
-- Index: lock primary key; lock_wait_line, the first waiter of each; lock_hold primary key, job primary key.
WITH next AS MATERIALIZED (
    SELECT l.name, first.waiter, CASE WHEN l.rate_due_at > now_is.at THEN greatest(l.rate_due_at, now_is.at + $2::float8 * interval '1 second')
                                      ELSE now_is.at + greatest($3::float8, least(10, 0.1 / l.rate)) * interval '1 second' END AS at
    FROM (SELECT clock_timestamp() AS at) now_is
    CROSS JOIN windlass.lock l
    CROSS JOIN LATERAL (
        SELECT w.waiter FROM windlass.lock_wait w WHERE w.lock = l.name AND w.since <= now_is.at ORDER BY w.lock, w.rank LIMIT 1
        FOR NO KEY UPDATE SKIP LOCKED -- a caller's transaction may have one in hand (windlass.debounce)
    ) first
    CROSS JOIN LATERAL (
        SELECT count(*) AS count, count(*) FILTER (WHERE j.state = 'queued') AS early
        FROM windlass.lock_hold h LEFT JOIN windlass.job j ON j.id = ANY (ARRAY[h.job_id]) WHERE h.lock = l.name
    ) held
    WHERE l.name = ANY ($1::text[]) AND l.rate IS NOT NULL AND held.count < l.capacity
      AND (l.rate_due_at > now_is.at OR held.early >= greatest(1, ceil(l.rate)))
)
UPDATE windlass.lock_wait w SET look_at = next.at FROM next
WHERE w.lock = ANY (ARRAY[next.name]) AND w.waiter = ANY (ARRAY[next.waiter])
RETURNING extract(epoch FROM next.at - clock_timestamp())::float8 AS seconds
