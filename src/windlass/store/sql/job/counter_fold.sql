-- counter_fold: add up waiting deltas into the counters.
-- params: most int4     returns: folded int8
-- Rows that another node is folding are left to it.
WITH gone AS (
    DELETE FROM windlass.counter_delta
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM windlass.counter_delta LIMIT $1 FOR UPDATE SKIP LOCKED))
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
