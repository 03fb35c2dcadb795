-- bulk_count_finished: bulk_count_unfinished for jobs that have ended.
-- params: window int4, groups int4, samples int4, then those of the conditions
-- returns: state, queue, kind, task, cause, count of the largest groups; on each row matching and looked (in all), and samples
-- Index: as bulk_find_finished.
WITH looked AS MATERIALIZED (
    SELECT id, state, queue, kind, task, tags, execution_id, correlation_id, target, created_at, finished_at, cause
    FROM windlass.job_history WHERE {walk} ORDER BY id LIMIT $1
), matched AS MATERIALIZED (
    SELECT id, state, queue, kind, task, CASE state WHEN 'dead' THEN coalesce(cause, 'unknown') ELSE cause END AS cause
    FROM looked WHERE {where}
), grouped AS (
    SELECT state, queue, kind, task, cause, count(*) AS count FROM matched GROUP BY state, queue, kind, task, cause
    ORDER BY count DESC, state, queue, kind, task, cause LIMIT $2
)
SELECT g.*, (SELECT count(*) FROM matched) AS matching, (SELECT count(*) FROM looked) AS looked,
       ARRAY(SELECT id FROM matched ORDER BY id LIMIT $3) AS samples
FROM (SELECT) one LEFT JOIN grouped g ON true
