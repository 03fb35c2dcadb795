-- local_jobs: jobs as a test looks at them, wherever they lie, in the order in which they were asked for.
-- params: since timestamptz (only those that began or ended since then; NULL: all)     returns: a row a job
-- Index: none is needed; a test's tables are small.
SELECT j.id, j.kind, j.queue, j.priority, j.state, j.attempt, j.run_at, j.created_at, j.started_at, NULL::timestamptz AS finished_at,
       j.key, j.tags, j.execution_id, j.step, j.input::text AS input, NULL::text AS result, j.error::text AS error
FROM windlass.job j
WHERE $1::timestamptz IS NULL OR j.started_at >= $1
UNION ALL
SELECT h.id, h.kind, h.queue, h.priority, h.state, h.attempt, h.run_at, h.created_at, h.started_at, h.finished_at,
       h.key, h.tags, h.execution_id, h.step, h.input::text, h.result::text, h.error::text
FROM windlass.job_history h
WHERE $1::timestamptz IS NULL OR h.started_at >= $1 OR h.finished_at >= $1
ORDER BY id
