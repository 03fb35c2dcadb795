-- job_held_by: what the database thinks a node runs; what waits for its receiver runs nowhere.
-- params: node_id uuid, older_than float8 seconds     returns: id, attempt, claim_id
-- Index: job_held.
SELECT id, attempt, claim_id FROM windlass.job
WHERE node_id = $1 AND state = 'running' AND callback_until IS NULL
  AND started_at < clock_timestamp() - $2 * interval '1 second'
