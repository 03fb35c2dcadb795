-- bulk_count_unfinished: how many unfinished jobs match, of what, and a few of them: among the first `window` of them.
-- engine/jobs/bulk.py puts where it begins for {walk}, and the filter for {where}.
-- params: window int4, groups int4, samples int4, then those of the conditions
-- returns: state, queue, kind, task, cause, count of the largest groups; on each row matching and looked (in all), and samples
-- Index: as bulk_find_unfinished. It is looked at by people, on a connection beside the work.
WITH looked AS MATERIALIZED (
    SELECT id, state, queue, kind, task, tags, execution_id, correlation_id, target, created_at, run_at, cancel_requested_at
    FROM windlass.job WHERE {walk} ORDER BY id LIMIT $1
), matched AS MATERIALIZED (
    SELECT id, state, queue, kind, task FROM looked WHERE {where}
), grouped AS (
    SELECT state, queue, kind, task, NULL::text AS cause, count(*) AS count FROM matched GROUP BY state, queue, kind, task
    ORDER BY count DESC, state, queue, kind, task LIMIT $2
)
SELECT g.*, (SELECT count(*) FROM matched) AS matching, (SELECT count(*) FROM looked) AS looked,
       ARRAY(SELECT id FROM matched ORDER BY id LIMIT $3) AS samples
FROM (SELECT) one LEFT JOIN grouped g ON true
