-- job_promote_many: make queued jobs due now.
-- params: id uuid[]     returns: id, queue, priority, run_at
-- Index: job primary key.
WITH moved AS (
    UPDATE windlass.job j SET run_at = clock_timestamp()
    FROM windlass.job was
    WHERE j.id = ANY ($1::uuid[]) AND was.id = j.id AND j.state = 'queued' AND j.run_at > clock_timestamp()
    RETURNING j.id, j.queue, j.priority, j.run_at, was.run_at AS from_run_at
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'promoted', json_build_object('run_at', m.run_at, 'from_run_at', m.from_run_at) FROM moved m
)
SELECT id, queue, priority, run_at FROM moved
