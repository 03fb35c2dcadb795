-- target_passes: how many jobs of each target have a pass: they may go, or are under way.
-- params: host text[]     returns: host, passes
-- Index: job_passed. Asked after target_lock_many, by a snapshot newer than the lock: nobody else gives passes meanwhile.
-- Who got a pass and cannot start, as its queue or its execution was paused since, gives it back and waits for its target
-- again: a probe in a paused queue would be the last one.
WITH stuck AS MATERIALIZED (
    SELECT j.id FROM windlass.job j JOIN windlass.queue q ON q.name = j.queue
    WHERE j.has_pass AND j.target = ANY ($1::text[]) AND j.state = 'queued'
      AND (j.parked_at IS NOT NULL OR q.is_paused OR q.max_running = 0)
    FOR UPDATE OF j SKIP LOCKED
), revoked AS (
    UPDATE windlass.job j
    SET has_pass = false, parked_at = coalesce(j.parked_at, clock_timestamp()),
        parked_for = coalesce(j.parked_for, CASE WHEN t.breaker <> 'closed' THEN 'breaker'
                                                 WHEN t.rate IS NOT NULL THEN 'rate' ELSE 'max_running' END)
    FROM stuck, windlass.target t
    WHERE j.id = ANY (ARRAY[stuck.id]) AND t.host = j.target
    RETURNING j.target
)
SELECT h.host,
       (SELECT count(*) FROM windlass.job j WHERE j.has_pass AND j.target = h.host)
       - (SELECT count(*) FROM revoked r WHERE r.target = h.host) AS passes
FROM unnest($1::text[]) AS h(host)
