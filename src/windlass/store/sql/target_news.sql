-- target_news: targets that jobs are parked for, and targets that changed since an instant.
-- params: since timestamptz (by the database's clock), most int4 of each
-- returns: the rows, with `now`, `nodes` that live, and `waiting`: how many jobs are parked for it, counted to 500
-- Index: target_changed; job_parked_line, hopped through from one target to the next: ten thousand jobs parked for one dead
-- host cost one hop. One statement, because an idle node asks it every few seconds.
WITH RECURSIVE hop AS (
    (SELECT j.target FROM windlass.job j WHERE j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock') ORDER BY j.target LIMIT 1)
    UNION ALL
    SELECT (SELECT j.target FROM windlass.job j WHERE j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock') AND j.target > hop.target ORDER BY j.target LIMIT 1)
    FROM hop WHERE hop.target IS NOT NULL
)
SELECT t.*, clock_timestamp() AS now,
       (SELECT count(*) FROM windlass.node n WHERE n.state = 'active' AND n.lease_until > now()) AS nodes,
       (SELECT count(*) FROM (SELECT FROM windlass.job j WHERE j.target = t.host AND j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock') LIMIT 500) w) AS waiting
FROM (
    (SELECT target AS host FROM hop WHERE target IS NOT NULL LIMIT $2)
    UNION
    (SELECT c.host FROM windlass.target c WHERE c.changed_at > $1 ORDER BY c.changed_at LIMIT $2)
) news
JOIN windlass.target t ON t.host = news.host
