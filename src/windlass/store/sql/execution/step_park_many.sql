-- step_park_many: park the queued jobs of paused executions.
-- params: execution_id uuid[], most int4     returns: parked int8, freed text[] (the limits that they had: the caller passes them on)
-- Index: job_step. Those that wait for a target, or may go to it, wait for their execution now; those that wait for locks keep
-- their rank among its waiters, and are parked when their turn comes (lock_grant_many). Who is being claimed just now runs, and ends.
WITH picked AS MATERIALIZED (
    SELECT j.id FROM windlass.job j JOIN windlass.execution e ON e.id = ANY (ARRAY[j.execution_id]) AND e.paused_at IS NOT NULL
    WHERE j.execution_id = ANY ($1::uuid[]) AND j.state = 'queued'
      AND (j.parked_for IS NULL OR j.parked_for NOT IN ('paused', 'lock'))
    LIMIT $2 FOR UPDATE OF j SKIP LOCKED
), parked AS (
    UPDATE windlass.job j SET parked_at = clock_timestamp(), parked_for = 'paused', has_pass = false FROM picked WHERE j.id = ANY (ARRAY[picked.id]) RETURNING 1
), given_back AS (
    DELETE FROM windlass.lock_hold h USING picked WHERE h.job_id = ANY (ARRAY[picked.id]) AND h.lock LIKE 'limit/%' RETURNING h.lock
)
SELECT count(*) AS parked, ARRAY(SELECT DISTINCT lock FROM given_back) AS freed FROM parked
