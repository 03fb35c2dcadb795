-- execution_stale: unfinished executions that nobody has refreshed for a while, the oldest of each shard.
-- params: shard int2[], seconds float8 since their last refresh, most int4 of one shard     returns: id
-- Index: execution_stale, one range a shard. The net under lost marks. A refresh moves them to the end, so that
-- however many wait for days, each has its turn.
SELECT old.id
FROM unnest($1::int2[]) AS s(shard)
CROSS JOIN LATERAL (
    SELECT e.id FROM windlass.execution e
    WHERE e.shard = s.shard AND e.finished_at IS NULL AND e.refreshed_at < now() - $2::float8 * interval '1 second'
    ORDER BY e.refreshed_at LIMIT $3::int4) old
