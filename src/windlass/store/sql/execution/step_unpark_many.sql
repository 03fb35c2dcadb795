-- step_unpark_many: let the jobs of resumed executions go.
-- params: execution_id uuid[], most int4     returns: queue, priority, run_at of every job
-- Index: job_step. What its target holds back is parked for that again when it is claimed.
WITH picked AS MATERIALIZED (
    SELECT j.id FROM windlass.job j JOIN windlass.execution e ON e.id = ANY (ARRAY[j.execution_id]) AND e.paused_at IS NULL
    WHERE j.execution_id = ANY ($1::uuid[]) AND j.parked_for = 'paused'
    LIMIT $2 FOR UPDATE OF j SKIP LOCKED
)
UPDATE windlass.job j SET parked_at = NULL, parked_for = NULL FROM picked WHERE j.id = ANY (ARRAY[picked.id])
RETURNING j.queue, j.priority, j.run_at
