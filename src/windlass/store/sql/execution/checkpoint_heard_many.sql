-- checkpoint_heard_many: of jobs that went to rest listening for a signal, those for which one is there already.
-- params: id uuid[]     returns: id
-- Index: job primary key, checkpoint_listening, execution_signal_waiting. The caller holds the executions' rows: a signal
-- that was on its way meanwhile is seen.
SELECT j.id FROM windlass.job j
WHERE j.id = ANY ($1::uuid[]) AND j.state = 'queued' AND j.run_at > clock_timestamp() AND EXISTS (
    SELECT FROM windlass.checkpoint c
    JOIN windlass.execution_signal s ON s.execution_id = j.execution_id AND s.name = c.name AND s.taken_by IS NULL
    WHERE c.job_id = j.id AND c.is_open)
ORDER BY j.id
