-- step_unpark_many: let the jobs of resumed executions go.
-- params: execution_id uuid[], most int4
-- returns: queue, priority, run_at, parked_for (`lock`: it waits for its limits, and somebody has to look) of every job
-- Index: job_step. What its target holds back is parked for that again when it is claimed. Limits are waited for from now on, as
-- in job_requeue_many: none is held by what is paused.
WITH picked AS MATERIALIZED (
    SELECT j.id FROM windlass.job j JOIN windlass.execution e ON e.id = ANY (ARRAY[j.execution_id]) AND e.paused_at IS NULL
    WHERE j.execution_id = ANY ($1::uuid[]) AND j.parked_for = 'paused'
    LIMIT $2 FOR UPDATE OF j SKIP LOCKED
), moved AS (
    UPDATE windlass.job j
    SET parked_at = CASE WHEN j.limits IS NOT NULL THEN clock_timestamp() END, parked_for = CASE WHEN j.limits IS NOT NULL THEN 'lock' END
    FROM picked WHERE j.id = ANY (ARRAY[picked.id])
    RETURNING j.id, j.queue, j.priority, j.run_at, j.parked_for, j.limits
), waits AS (
    INSERT INTO windlass.lock_wait (lock, waiter, priority, since, rank, look_at)
    SELECT ask.lock, m.id, m.priority, due.at, due.at - m.priority * interval '300 seconds', clock_timestamp()
    FROM moved m CROSS JOIN LATERAL json_to_recordset(m.limits) AS ask(lock text)
    CROSS JOIN LATERAL (SELECT greatest(m.run_at, clock_timestamp()) AS at) due
    WHERE m.limits IS NOT NULL
    ON CONFLICT DO NOTHING
)
SELECT queue, priority, run_at, parked_for FROM moved
