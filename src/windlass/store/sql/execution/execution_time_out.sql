-- execution_time_out: give up executions that did not end in the time their definitions give them.
-- params: most int4, unheard float8 (seconds during which a job may not have heard of it)     returns: id
-- Index: execution_deadline. One that is taking back what it did has failed already, and is left to it.
WITH due AS MATERIALIZED (
    SELECT e.id FROM windlass.execution e
    WHERE e.deadline <= clock_timestamp() AND e.deadline IS NOT NULL AND e.finished_at IS NULL AND e.doom IS NULL
      AND e.cancel_requested_at IS NULL
      AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.execution_id = e.id AND j.step LIKE '%~undo' OFFSET 0)
    ORDER BY e.deadline LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
), doomed AS (
    UPDATE windlass.execution e
    SET doom = 'timeout', refresh_seq = e.refresh_seq + 1, unheard_until = clock_timestamp() + $2::float8 * interval '1 second'
    FROM due WHERE e.id = ANY (ARRAY[due.id])
    RETURNING e.id, e.deadline
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'execution', replace(d.id::text, '-', ''), 'timed_out', json_build_object('deadline', d.deadline) FROM doomed d
)
SELECT id FROM doomed
