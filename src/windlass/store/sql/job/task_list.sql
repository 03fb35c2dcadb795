-- task_list: the tasks that are known, with the living nodes that have each, and how many of its jobs wait, run and are dead.
-- params: name text (NULL: all), most int4, dead_most int4
-- returns: name, app, description, described_at (NULL: only its name is known), nodes uuid[] (20 at most), node_count, queued, running, dead
-- Reads all unfinished jobs: for people, and never on a hot path. Of the dead the newest `dead_most` are counted (job_history_dead).
WITH living AS MATERIALIZED (
    SELECT n.id, t.name FROM windlass.node n, unnest(n.tasks) AS t(name)
    WHERE n.state = 'active' AND n.lease_until > now() AND 'worker' = ANY (n.roles) AND ($1::text IS NULL OR t.name = $1)
), known AS (
    SELECT k.name FROM windlass.task k WHERE $1::text IS NULL OR k.name = $1
    UNION
    SELECT l.name FROM living l
    ORDER BY name LIMIT $2
), unfinished AS MATERIALIZED (
    SELECT j.task, count(*) FILTER (WHERE j.state = 'queued') AS queued, count(*) FILTER (WHERE j.state = 'running') AS running
    FROM windlass.job j WHERE j.task IS NOT NULL AND ($1::text IS NULL OR j.task = $1) GROUP BY j.task
), dead AS MATERIALIZED (
    SELECT d.task, count(*) AS dead
    FROM (SELECT h.task FROM windlass.job_history h WHERE h.state = 'dead' ORDER BY h.id DESC LIMIT $3) d
    WHERE d.task IS NOT NULL GROUP BY d.task
)
SELECT known.name, t.app, t.description, t.described_at,
       ARRAY(SELECT l.id FROM living l WHERE l.name = known.name ORDER BY l.id LIMIT 20) AS nodes,
       (SELECT count(*) FROM living l WHERE l.name = known.name) AS node_count,
       coalesce(u.queued, 0) AS queued, coalesce(u.running, 0) AS running, coalesce(d.dead, 0) AS dead
FROM known
LEFT JOIN windlass.task t ON t.name = known.name
LEFT JOIN unfinished u ON u.task = known.name
LEFT JOIN dead d ON d.task = known.name
ORDER BY known.name
