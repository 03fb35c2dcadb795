-- bulk_find_unfinished: the next unfinished jobs of a bulk operation, oldest first: as many as match among the next `window`.
-- engine/jobs/bulk.py puts where it begins for {walk}, and the filter for {where}.
-- params: window int4, most int4, then those of the conditions
-- returns: ids, looked (rows of the window), last_id (the last of them)
-- Index: job primary key, or job_execution where {walk} names one. However rarely the filter matches, it looks at no more than
-- a window of rows: what finds nothing costs a page of an index and the rows behind it, and the next call goes on from there.
WITH looked AS MATERIALIZED (
    SELECT id, state, queue, kind, task, tags, execution_id, correlation_id, target, created_at, run_at, cancel_requested_at
    FROM windlass.job WHERE {walk} ORDER BY id LIMIT $1
)
SELECT ARRAY(SELECT id FROM looked WHERE {where} ORDER BY id LIMIT $2) AS ids, (SELECT count(*) FROM looked) AS looked,
       (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS last_id
