-- job_request_cancel_many: ask running jobs to stop; from now on they cannot end `succeeded` (G7).
-- params: id uuid[]     returns: id, node_id
-- Index: job primary key; job_cancelling lets each node find what it must stop.
WITH asked AS (
    UPDATE windlass.job SET cancel_requested_at = clock_timestamp()
    WHERE id = ANY ($1::uuid[]) AND CASE state WHEN 'running' THEN cancel_requested_at IS NULL END
    RETURNING id, node_id
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type)
    SELECT 'job', replace(a.id::text, '-', ''), a.id, 'cancel_requested' FROM asked a
)
SELECT id, node_id FROM asked
