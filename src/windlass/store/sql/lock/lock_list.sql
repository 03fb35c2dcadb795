-- lock_list: locks by name after a name, with who holds each and who waits for it. Limits of jobs are none.
-- params: after text, most int4, name text[] (NULL: all), shown int4 (holders and waiters that are named), counted int4
-- returns: the rows, with held and waiting (who could go now, counted to `counted`), holders and waiters (JSON, in order)
-- Index: lock primary key; lock_hold primary key, as many rows as there are holds; lock_wait_line, as many as are counted.
SELECT l.name, l.capacity, l.token, l.changed_at, held.count AS held, waiting.count AS waiting,
       coalesce(held.shown, '[]') AS holders, coalesce(waiting.shown, '[]') AS waiters
FROM (SELECT clock_timestamp() AS at) now_is
CROSS JOIN windlass.lock l
CROSS JOIN LATERAL (
    SELECT count(*) AS count,
           json_agg(json_build_object('token', h.token, 'job_id', h.job_id, 'owner', h.owner, 'taken_at', h.taken_at,
                                      'expires_at', h.expires_at) ORDER BY h.token) FILTER (WHERE h.number <= $4) AS shown
    FROM (SELECT *, row_number() OVER (ORDER BY token) AS number FROM windlass.lock_hold
          WHERE lock = l.name AND (expires_at IS NULL OR expires_at > now_is.at)) h
) held
CROSS JOIN LATERAL (
    SELECT count(*) AS count,
           json_agg(json_build_object('job_id', CASE WHEN w.until IS NULL THEN w.waiter END, 'owner', w.owner,
                                      'priority', w.priority, 'since', w.since, 'until', w.until) ORDER BY w.number)
               FILTER (WHERE w.number <= $4) AS shown
    FROM (SELECT near.*, row_number() OVER (ORDER BY near.rank, near.waiter) AS number
          FROM (SELECT * FROM windlass.lock_wait
                WHERE lock = l.name AND since <= now_is.at AND (until IS NULL OR until > now_is.at)
                ORDER BY lock, rank LIMIT $5) near) w
) waiting
WHERE NOT l.is_limit AND l.name > $1 AND ($3::text[] IS NULL OR l.name = ANY ($3::text[]))
ORDER BY l.name LIMIT $2
