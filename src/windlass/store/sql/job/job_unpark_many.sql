-- job_unpark_many: let parked jobs go, so many of each target, the highest priority and the longest waiting first.
-- params: target text[], count int4[], has_pass bool[]     returns: id, target, queue, priority, run_at
-- The caller holds the targets' rows (target_lock_many): what it counted is still so. Who could not start anyway, as its
-- queue or its execution is paused, gets no pass: it would keep the target from everybody else for as long.
-- For the same reason a probe comes from a queue that has room by its own max_running and rate, if there is one: in another
-- it would begin after somebody else's jobs have ended, or when the next token has dripped in (as in job_claim_solo).
-- Index: job_held for counting what runs in a limited queue; job_parked_queue, hopped through from one queue of the target to the next, and in each as many rows as go: a
-- million jobs of a paused queue cost one hop.
WITH chosen AS MATERIALIZED (
    SELECT first.id, room.has_pass
    FROM unnest($1::text[], $2::int4[], $3::bool[]) AS room(target, count, has_pass)
    CROSS JOIN LATERAL (
        WITH RECURSIVE hop AS (
            (SELECT j.queue FROM windlass.job j
             WHERE j.target = room.target AND j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock')
             ORDER BY j.target, j.queue LIMIT 1)
            UNION ALL
            SELECT (SELECT j.queue FROM windlass.job j
                    WHERE j.target = room.target AND j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock')
                      AND j.queue > hop.queue ORDER BY j.target, j.queue LIMIT 1)
            FROM hop WHERE hop.queue IS NOT NULL
        )
        SELECT parked.id FROM hop
        JOIN windlass.queue q ON q.name = hop.queue AND NOT q.is_paused AND q.max_running IS DISTINCT FROM 0
        CROSS JOIN LATERAL (
            SELECT (q.max_running IS NOT NULL OR q.rate IS NOT NULL)
                   AND EXISTS (SELECT FROM windlass.target t WHERE t.host = room.target AND t.breaker <> 'closed')
                   AND (q.max_running <= (SELECT count(*) FROM windlass.job r WHERE r.state = 'running' AND r.node_id IS NOT NULL
                                          AND r.callback_until IS NULL AND r.queue = q.name)
                        OR q.rate_free_at >= now() - interval '1 second'
                           AND extract(epoch FROM now() - greatest(q.rate_free_at, now() - interval '1 second')) * q.rate < 1) IS TRUE AS is_last
        ) turn
        CROSS JOIN LATERAL (
            SELECT j.id, j.priority, j.run_at FROM windlass.job j
            WHERE j.target = room.target AND j.queue = q.name AND j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock')
              AND (j.execution_id IS NULL OR NOT coalesce(windlass.execution_is_paused(j.execution_id), false))
            ORDER BY j.target, j.queue, j.priority DESC, j.run_at
            LIMIT room.count
        ) parked
        ORDER BY turn.is_last, parked.priority DESC, parked.run_at
        LIMIT room.count
    ) first
), picked AS MATERIALIZED (
    SELECT j.id, chosen.has_pass FROM chosen JOIN windlass.job j ON j.id = ANY (ARRAY[chosen.id])
    WHERE CASE WHEN j.parked_at IS NOT NULL THEN j.parked_for NOT IN ('paused', 'lock') END
    FOR UPDATE OF j SKIP LOCKED
)
UPDATE windlass.job j
SET parked_at = NULL, parked_for = NULL, has_pass = picked.has_pass
FROM picked WHERE j.id = ANY (ARRAY[picked.id])
RETURNING j.id, j.target, j.queue, j.priority, j.run_at
