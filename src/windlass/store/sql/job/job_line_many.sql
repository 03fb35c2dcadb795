-- job_line_many: the lines that these jobs stand in, and when the first of each is due.
-- params: id uuid[]     returns: queue, priority, run_at
-- Who was told of jobs that are committed announces lines, not jobs. What waits for other jobs, is parked or has begun
-- needs no hint, and what is not there (any more, or not yet) gives none.
-- Index: the primary key.
SELECT queue, priority, min(run_at) AS run_at
FROM windlass.job
WHERE id = ANY ($1::uuid[]) AND state = 'queued' AND parked_at IS NULL
GROUP BY queue, priority
