-- target_news: targets that jobs are parked for, a page of them, and targets that changed since an instant.
-- params: since timestamptz (by the database's clock), after text (the page begins behind this host), host text[] (looked at
--         whatever the page is), most int4 of each
-- returns: the rows, with `now`, `nodes` that live, `page_end`: the last host of a full page (NULL: there is no other), and
-- `waiting`: how many jobs are parked for it, counted to 500
-- Index: target_changed; job_parked_line, hopped through from one target to the next: ten thousand jobs parked for one dead
-- host cost one hop. One statement, because an idle node asks it every few seconds. More that has changed: target_changed.
WITH RECURSIVE hop AS (
    (SELECT j.target, 1 AS nth FROM windlass.job j
     WHERE j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock') AND j.target > $2 ORDER BY j.target LIMIT 1)
    UNION ALL
    SELECT (SELECT j.target FROM windlass.job j
            WHERE j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock') AND j.target > hop.target
            ORDER BY j.target LIMIT 1), hop.nth + 1
    FROM hop WHERE hop.target IS NOT NULL AND hop.nth < $4
)
SELECT t.*, clock_timestamp() AS now, (SELECT max(hop.target) FROM hop HAVING count(hop.target) >= $4) AS page_end,
       (SELECT count(*) FROM windlass.node n WHERE n.state = 'active' AND n.lease_until > now()) AS nodes,
       (SELECT count(*) FROM (SELECT FROM windlass.job j WHERE j.target = t.host AND j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock') LIMIT 500) w) AS waiting
FROM (
    SELECT hop.target AS host FROM hop WHERE hop.target IS NOT NULL
    UNION
    SELECT named.host FROM unnest($3::text[]) AS named(host)
    UNION
    (SELECT c.host FROM windlass.target c WHERE c.changed_at > $1 ORDER BY c.changed_at, c.host LIMIT $4)
) news
JOIN windlass.target t ON t.host = news.host
