-- job_release_many: hand back jobs that were claimed ahead and never begun; the claim is undone.
-- params: id uuid[], attempt int4[], claim_id uuid[]     returns: id, queue, priority, run_at, is_held
-- What somebody asked to cancel in the meantime is left alone: it must end, not wait. What a transaction holds is not waited
-- for: it stays claimed, and is said to be held.
-- Index: job primary key.
-- `must_be` as in job_end_many.
WITH asked AS MATERIALIZED (
    SELECT *, 'running' AS must_be FROM unnest($1::uuid[], $2::int4[], $3::uuid[]) AS g(id, attempt, claim_id)
), free AS MATERIALIZED (
    SELECT j.id, j.started_at, j.node_id, asked.attempt
    FROM asked CROSS JOIN LATERAL (
        SELECT id, started_at, node_id FROM windlass.job
        WHERE id = ANY (ARRAY[asked.id]) AND claim_id = asked.claim_id AND attempt = asked.attempt AND state = asked.must_be
        FOR UPDATE SKIP LOCKED) j
), moved AS (
    UPDATE windlass.job j
    SET state = 'queued', node_id = NULL, claim_id = NULL, attempt = j.attempt - 1, started_at = NULL
    FROM free
    WHERE j.id = ANY (ARRAY[free.id]) AND j.cancel_requested_at IS NULL
    RETURNING j.id, j.queue, j.priority, j.run_at, free.attempt, free.started_at, free.node_id
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'released',
           json_build_object('attempt', m.attempt, 'claimed_at', m.started_at, 'node_id', m.node_id)
    FROM moved m
)
SELECT id, queue, priority, run_at, false AS is_held FROM moved
UNION ALL
SELECT j.id, j.queue, j.priority, j.run_at, true
FROM asked CROSS JOIN LATERAL (
    SELECT id, queue, priority, run_at FROM windlass.job
    WHERE id = ANY (ARRAY[asked.id]) AND claim_id = asked.claim_id AND attempt = asked.attempt AND state = asked.must_be) j
WHERE j.id NOT IN (SELECT id FROM free)
