-- execution_oldest: how long ago the unfinished execution was refreshed of which that was longest ago.
-- params: shards int4 (how many there are)     returns: seconds float8, or NULL: none is unfinished
-- Index: execution_stale, its first entry of each shard.
SELECT extract(epoch FROM now() - min(old.refreshed_at))::float8 AS seconds
FROM generate_series(0, $1::int4 - 1) AS s(shard)
CROSS JOIN LATERAL (
    SELECT e.refreshed_at FROM windlass.execution e
    WHERE e.shard = s.shard AND e.finished_at IS NULL
    ORDER BY e.refreshed_at LIMIT 1) old
