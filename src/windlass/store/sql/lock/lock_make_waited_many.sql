-- lock_make_waited_many: rows for locks that somebody waits for and that have none, or none any more.
-- params: name text[]     returns: nothing
-- Index: lock_wait primary key, job primary key. What a limit allows the newest of the jobs says that wait for it. In one order for
-- everybody, as lock_make_many.
INSERT INTO windlass.lock (name, capacity, rate, is_limit, said_by)
SELECT g.name, coalesce(ask.max_running, CASE WHEN ask.rate IS NOT NULL THEN 10000 ELSE 1 END), ask.rate, g.name LIKE 'limit/%', ask.waiter
FROM (SELECT DISTINCT name FROM unnest($1::text[]) AS n(name) ORDER BY name) g
LEFT JOIN LATERAL (
    SELECT w.waiter, asked.max_running, asked.rate
    FROM windlass.lock_wait w
    JOIN windlass.job j ON j.id = ANY (ARRAY[w.waiter])
    CROSS JOIN LATERAL json_to_recordset(j.limits) AS asked(lock text, max_running integer, rate double precision)
    WHERE w.lock = g.name AND g.name LIKE 'limit/%' AND asked.lock = g.name
    ORDER BY w.waiter DESC LIMIT 1
) ask ON true
ORDER BY g.name
ON CONFLICT DO NOTHING
