-- counter_check: queues whose counters differ from what is there.
-- params: none     returns: queue, state (or bytes), counted, should
-- Counts every row: for the doctor. One statement, so both sides are of one snapshot.
WITH truth AS (
    SELECT queue, state AS what, count(*) AS n FROM windlass.job GROUP BY queue, state
    UNION ALL
    SELECT queue, 'bytes', sum(input_bytes) FROM windlass.job GROUP BY queue
    UNION ALL
    SELECT queue, state, count(*) FROM windlass.job_history GROUP BY queue, state
), counted AS (
    SELECT c.queue, pair.what, sum(pair.n) AS n
    FROM (SELECT * FROM windlass.counter UNION ALL SELECT * FROM windlass.counter_delta) c
    CROSS JOIN LATERAL (VALUES
        ('blocked', c.blocked), ('queued', c.queued), ('running', c.running), ('succeeded', c.succeeded), ('dead', c.dead),
        ('cancelled', c.cancelled), ('expired', c.expired), ('skipped', c.skipped), ('bytes', c.bytes)) AS pair(what, n)
    GROUP BY c.queue, pair.what
)
SELECT queue, what, coalesce(counted.n, 0)::int8 AS counted, coalesce(truth.n, 0)::int8 AS should
FROM truth FULL JOIN counted USING (queue, what)
WHERE coalesce(counted.n, 0) <> coalesce(truth.n, 0)
ORDER BY queue, what
