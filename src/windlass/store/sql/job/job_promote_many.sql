-- job_promote_many: make queued jobs due now.
-- params: id uuid[]     returns: id, queue, priority, run_at, and the locks that it waits for (NULL: none)
-- Index: job primary key, lock_wait_waiter. Among the waiters of its locks it stands as if it had come now: the caller passes
-- them on, or somebody looks.
WITH moved AS (
    UPDATE windlass.job j SET run_at = clock_timestamp()
    FROM windlass.job was
    WHERE j.id = ANY ($1::uuid[]) AND was.id = ANY (ARRAY[j.id]) AND j.state = 'queued' AND j.run_at > clock_timestamp()
    RETURNING j.id, j.queue, j.priority, j.run_at, CASE WHEN j.parked_for = 'lock' THEN j.locks END AS locks, was.run_at AS from_run_at
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'promoted', json_build_object('run_at', m.run_at, 'from_run_at', m.from_run_at) FROM moved m
), hurried AS (
    UPDATE windlass.lock_wait w SET since = m.run_at, rank = w.rank - (w.since - m.run_at), look_at = m.run_at
    FROM moved m WHERE w.waiter = ANY (ARRAY[m.id]) AND m.locks IS NOT NULL
)
SELECT id, queue, priority, run_at, locks FROM moved
