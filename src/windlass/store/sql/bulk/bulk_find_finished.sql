-- bulk_find_finished: bulk_find_unfinished for jobs that have ended.
-- params: window int4, most int4, then those of the conditions
-- returns: ids, looked (rows of the window), last_id (the last of them)
-- Index: job_history_dead where only dead ones are asked for, job_history_execution where {walk} names one, else the primary
-- key; days outside of the filter are left out.
WITH looked AS MATERIALIZED (
    SELECT id, state, queue, kind, task, tags, execution_id, correlation_id, target, created_at, finished_at, cause
    FROM windlass.job_history WHERE {walk} ORDER BY id LIMIT $1
)
SELECT ARRAY(SELECT id FROM looked WHERE {where} ORDER BY id LIMIT $2) AS ids, (SELECT count(*) FROM looked) AS looked,
       (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS last_id
