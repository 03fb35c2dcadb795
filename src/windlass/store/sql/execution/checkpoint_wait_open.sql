-- checkpoint_wait_open: a durable function begins to wait for a signal; the caller holds the execution's row.
-- params: job_id uuid, attempt int4, claim_id uuid, branch text, place int4, name text, rest float8 seconds (NULL: no end)
-- returns: one row if the attempt is still the newest
-- Index: job primary key, checkpoint primary key. A wait that was begun before stays as it is: its time runs on.
WITH held AS (
    SELECT j.id FROM windlass.job j WHERE j.id = $1 AND j.claim_id = $3 AND j.attempt = $2 AND CASE j.state WHEN 'running' THEN true END
), opened AS (
    INSERT INTO windlass.checkpoint (job_id, branch, place, name, kind, is_open, until, attempt)
    SELECT held.id, $4, $5, $6, 'wait', true, clock_timestamp() + $7::float8 * interval '1 second', $2 FROM held
    ON CONFLICT (job_id, branch, place) DO NOTHING
)
SELECT id FROM held
