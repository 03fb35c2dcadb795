-- target_passes: how many jobs of each target have a pass: they may go, or are under way.
-- params: host text[]     returns: host, passes
-- Index: job_passed. Asked after target_lock_many, by a snapshot newer than the lock: nobody else gives passes meanwhile.
-- Who got a pass and cannot start, as its queue or its execution was paused since, gives it back and waits for its target
-- again: a probe in a paused queue would be the last one. So does a probe whose queue has become full, or has no token left by
-- its rate, while another queue with room has a job that could probe instead.
-- Index, besides: job_parked_queue, one probe for each queue, and job_held where a queue has a limit; only for probes.
WITH waiting AS MATERIALIZED (
    SELECT j.id, j.target, j.queue, h.must_be
    FROM (SELECT host, 'queued' AS must_be FROM unnest($1::text[]) AS g(host) OFFSET 0) h
    CROSS JOIN LATERAL (
        SELECT id, target, queue FROM windlass.job WHERE has_pass AND target = h.host AND state = h.must_be OFFSET 0) j
), shut AS MATERIALIZED (
    SELECT w.target, w.queue
    FROM (SELECT DISTINCT target, queue FROM waiting) w
    JOIN windlass.queue q ON q.name = w.queue
    JOIN windlass.target t ON t.host = w.target
    WHERE q.is_paused OR q.max_running = 0
       OR t.breaker <> 'closed' AND (q.max_running IS NOT NULL OR q.rate IS NOT NULL) AND NOT (
              (q.max_running IS NULL
               OR q.max_running > (SELECT count(*) FROM windlass.job r WHERE r.state = 'running' AND r.node_id IS NOT NULL
                                   AND r.callback_until IS NULL AND r.queue = q.name))
              AND (q.rate IS NULL OR q.rate_free_at < now() - interval '1 second'
                   OR extract(epoch FROM now() - greatest(q.rate_free_at, now() - interval '1 second')) * q.rate >= 1))
          AND EXISTS (
              SELECT FROM windlass.queue o
              WHERE o.name <> q.name AND NOT o.is_paused
                AND EXISTS (SELECT FROM windlass.job p WHERE p.target = w.target AND p.queue = o.name AND p.parked_at IS NOT NULL
                            AND p.parked_for NOT IN ('paused', 'lock') OFFSET 0)
                AND (o.max_running IS NULL
                     OR o.max_running > (SELECT count(*) FROM windlass.job r WHERE r.state = 'running' AND r.node_id IS NOT NULL
                                         AND r.callback_until IS NULL AND r.queue = o.name))
                AND (o.rate IS NULL OR o.rate_free_at < now() - interval '1 second'
                     OR extract(epoch FROM now() - greatest(o.rate_free_at, now() - interval '1 second')) * o.rate >= 1)
              OFFSET 0)
), stuck AS MATERIALIZED (
    SELECT j.id FROM waiting w JOIN windlass.job j ON j.id = ANY (ARRAY[w.id])
    WHERE j.state = w.must_be AND CASE WHEN j.has_pass THEN true END
      AND (j.parked_at IS NOT NULL OR EXISTS (SELECT FROM shut WHERE shut.target = w.target AND shut.queue = w.queue))
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
