-- node_task_list: which of the living nodes that take jobs of its queue have the task of a `python` job.
-- params: job_id uuid
-- returns: one row: task (NULL: no such job, or it names none), nodes int8, able int8 (a node that has not said may be), known text[] (200 at most)
-- Index: node_live; primary keys.
WITH asked AS (
    SELECT input ->> 'task' AS task, queue FROM windlass.job WHERE id = $1
    UNION ALL
    SELECT input ->> 'task', queue FROM windlass.job_history WHERE id = $1
    LIMIT 1
), living AS MATERIALIZED (
    SELECT n.tasks FROM windlass.node n, asked
    WHERE n.state = 'active' AND n.lease_until > now() AND 'worker' = ANY (n.roles)
      AND windlass.serves(n.queues, n.queues_except, asked.queue)
)
SELECT (SELECT task FROM asked) AS task,
       count(*) AS nodes,
       count(*) FILTER (WHERE tasks IS NULL OR (SELECT task FROM asked) = ANY (tasks)) AS able,
       ARRAY(SELECT DISTINCT t FROM living l, unnest(l.tasks) AS t ORDER BY t LIMIT 200) AS known
FROM living
