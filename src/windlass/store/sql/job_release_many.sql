-- job_release_many: hand back jobs that were claimed ahead and never begun; the claim is undone.
-- params: id uuid[], attempt int4[], claim_id uuid[]     returns: id, queue, priority, run_at
-- What somebody asked to cancel in the meantime is left alone: it must end, not wait.
-- Index: job primary key.
-- `must_be` as in job_end_many.
WITH moved AS (
    UPDATE windlass.job j
    SET state = 'queued', node_id = NULL, claim_id = NULL, attempt = j.attempt - 1, started_at = NULL
    FROM (SELECT *, 'running' AS must_be
          FROM unnest($1::uuid[], $2::int4[], $3::uuid[]) AS g(id, attempt, claim_id) OFFSET 0) s
    JOIN windlass.job was ON was.id = ANY (ARRAY[s.id])
    WHERE j.id = ANY (ARRAY[s.id]) AND j.claim_id = s.claim_id AND j.attempt = s.attempt AND j.state = s.must_be
      AND j.cancel_requested_at IS NULL
    RETURNING j.id, j.queue, j.priority, j.run_at, s.attempt, was.started_at, was.node_id
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'released',
           json_build_object('attempt', m.attempt, 'claimed_at', m.started_at, 'node_id', m.node_id)
    FROM moved m
)
SELECT id, queue, priority, run_at FROM moved
