-- counter_fold_free: add up waiting deltas into the counters that nobody holds.
-- params: most int4     returns: folded int8
-- For when counter_fold had to wait for a row. It goes through all deltas, those of the held queue as well: they gather until
-- their counter is free. A queue without a counter gets its first one when that is so.
WITH free AS MATERIALIZED (
    SELECT queue FROM windlass.counter ORDER BY queue FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM windlass.counter_delta
    WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM windlass.counter_delta d
                            WHERE d.queue = ANY (ARRAY(SELECT queue FROM free)) LIMIT $1 FOR UPDATE SKIP LOCKED))
    RETURNING *
), added AS (
    INSERT INTO windlass.counter AS c
    SELECT queue, sum(blocked), sum(queued), sum(running), sum(succeeded), sum(dead), sum(cancelled), sum(expired), sum(skipped), sum(bytes)
    FROM gone GROUP BY queue ORDER BY queue
    ON CONFLICT (queue) DO UPDATE SET
        blocked = c.blocked + excluded.blocked, queued = c.queued + excluded.queued, running = c.running + excluded.running,
        succeeded = c.succeeded + excluded.succeeded, dead = c.dead + excluded.dead, cancelled = c.cancelled + excluded.cancelled,
        expired = c.expired + excluded.expired, skipped = c.skipped + excluded.skipped, bytes = c.bytes + excluded.bytes
)
SELECT count(*) AS folded FROM gone
