-- node_task_list: which of the living nodes that take jobs have the task of a `python` job.
-- params: job_id uuid
-- returns: one row: task (NULL: no such job, or it names none), nodes int8, able int8 (a node that has not said may be), known text[] (20 at most)
-- Index: node_live; primary keys.
WITH asked AS (
    SELECT input ->> 'task' AS task FROM windlass.job WHERE id = $1
    UNION ALL
    SELECT input ->> 'task' FROM windlass.job_history WHERE id = $1
    LIMIT 1
), living AS MATERIALIZED (
    SELECT tasks FROM windlass.node WHERE state = 'active' AND lease_until > now() AND 'worker' = ANY (roles)
)
SELECT (SELECT task FROM asked) AS task,
       count(*) AS nodes,
       count(*) FILTER (WHERE tasks IS NULL OR (SELECT task FROM asked) = ANY (tasks)) AS able,
       ARRAY(SELECT DISTINCT t FROM living l, unnest(l.tasks) AS t ORDER BY t LIMIT 20) AS known
FROM living
