-- execution_cancel_many: executions are to be cancelled; one that waits for its turn ends at once.
-- params: id uuid[], cause text, message text, unheard float8 (seconds during which a job may not have heard of it)
-- returns: id, parent_job_id, is_ended of every one that was not asked before and has not ended
-- Index: primary key. Rows are locked in one order for everybody. From now on it gets no further steps (step_insert_many), and
-- cannot end `succeeded` (G7). An end at once is told like any other, at refreshed_at, and after what asked for it.
WITH held AS MATERIALIZED (
    SELECT e.id, clock_timestamp() AS at FROM windlass.execution e
    WHERE e.id = ANY ($1::uuid[]) AND e.finished_at IS NULL AND e.cancel_requested_at IS NULL
    ORDER BY e.id FOR NO KEY UPDATE
), asked AS (
    UPDATE windlass.execution e
    SET cancel_requested_at = held.at, refresh_seq = e.refresh_seq + 1,
        unheard_until = CASE WHEN e.begun_at IS NOT NULL THEN clock_timestamp() + $4::float8 * interval '1 second' END,
        state = CASE WHEN e.begun_at IS NULL THEN 'cancelled' ELSE e.state END,
        finished_at = CASE WHEN e.begun_at IS NULL THEN clock_timestamp() END,
        refreshed_at = CASE WHEN e.begun_at IS NULL THEN clock_timestamp() ELSE e.refreshed_at END,
        error = CASE WHEN e.begun_at IS NULL THEN json_build_object('cause', $2::text, 'message', $3::text) END
    FROM held WHERE e.id = ANY (ARRAY[held.id])
    RETURNING e.id, e.parent_job_id, e.finished_at IS NOT NULL AS is_ended, held.at
), noted AS (
    INSERT INTO windlass.event (at, noun, subject, type, data)
    SELECT a.at, 'execution', replace(a.id::text, '-', ''), 'cancel_requested', json_build_object('cause', $2::text) FROM asked a
)
SELECT id, parent_job_id, is_ended FROM asked
