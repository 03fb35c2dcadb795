-- job_park_many: hand back jobs that were claimed and may not go to their target now; they leave their line until it has room.
-- params: id uuid[], attempt int4[], claim_id uuid[], target text[], parked_for text[]     returns: id, target, is_held
-- As job_release_many, the claim is undone: no attempt is spent. What somebody asked to cancel is left alone: it must end;
-- and what a transaction holds, which is said.
-- The target gets its row here if it has none, so that whoever is parked is found by who lets go (see target_waiting).
-- Index: job primary key. `must_be` as in job_end_many.
WITH asked AS MATERIALIZED (
    SELECT *, 'running' AS must_be
    FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::text[], $5::text[]) AS g(id, attempt, claim_id, target, parked_for)
), free AS MATERIALIZED (
    SELECT j.id, j.started_at, j.node_id, asked.attempt, asked.target, asked.parked_for
    FROM asked CROSS JOIN LATERAL (
        SELECT id, started_at, node_id FROM windlass.job
        WHERE id = ANY (ARRAY[asked.id]) AND claim_id = asked.claim_id AND attempt = asked.attempt AND state = asked.must_be
        FOR UPDATE SKIP LOCKED) j
), moved AS (
    UPDATE windlass.job j
    SET state = 'queued', node_id = NULL, claim_id = NULL, attempt = j.attempt - 1, started_at = NULL, has_pass = false,
        target = free.target, parked_at = clock_timestamp(), parked_for = free.parked_for
    FROM free
    WHERE j.id = ANY (ARRAY[free.id]) AND j.cancel_requested_at IS NULL
    RETURNING j.id, j.target, j.parked_for, free.attempt, free.started_at, free.node_id
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'released',
           json_build_object('attempt', m.attempt, 'claimed_at', m.started_at, 'node_id', m.node_id,
                             'parked_for', m.parked_for, 'target', m.target)
    FROM moved m
), known AS (
    INSERT INTO windlass.target (host) SELECT DISTINCT target FROM moved ON CONFLICT DO NOTHING
)
SELECT id, target, false AS is_held FROM moved
UNION ALL
SELECT j.id, asked.target, true
FROM asked CROSS JOIN LATERAL (
    SELECT id FROM windlass.job
    WHERE id = ANY (ARRAY[asked.id]) AND claim_id = asked.claim_id AND attempt = asked.attempt AND state = asked.must_be) j
WHERE j.id NOT IN (SELECT id FROM free)
