-- job_line_many: the lines that these jobs stand in, and when the first of each is due.
-- params: id uuid[]     returns: queue, priority, run_at, has_locks (some wait for locks or limits, which somebody has to grant)
-- Who was told of jobs that are committed announces lines, not jobs. What waits for other jobs or a target, or has begun
-- needs no hint, and what is not there (any more, or not yet) gives none.
-- Index: the primary key.
SELECT queue, priority, min(run_at) AS run_at, bool_or(parked_at IS NOT NULL) AS has_locks
FROM windlass.job
WHERE id = ANY ($1::uuid[]) AND state = 'queued' AND (parked_at IS NULL OR parked_for = 'lock')
GROUP BY queue, priority
