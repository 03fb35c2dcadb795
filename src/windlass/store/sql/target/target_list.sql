-- target_list: targets by host after a host, with who waits for each and who is under way.
-- params: after text, most int4, host text[] (NULL: all), parked_most int4
-- returns: the rows, with `parked` (counted to parked_most) and `running` (NULL: it has no limit, so nobody counts)
-- Index: target primary key; job_parked_line, as many rows as are counted; job_passed.
SELECT t.*,
       (SELECT count(*) FROM (SELECT FROM windlass.job j WHERE j.target = t.host AND j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock') LIMIT $4) p) AS parked,
       CASE WHEN t.max_running IS NOT NULL
            THEN (SELECT count(*) FROM windlass.job j WHERE j.target = t.host AND j.has_pass) END AS running
FROM windlass.target t
WHERE t.host > $1 AND ($3::text[] IS NULL OR t.host = ANY ($3::text[]))
ORDER BY t.host LIMIT $2
