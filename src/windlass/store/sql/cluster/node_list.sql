-- node_list: nodes, living ones first; those gone for a day are left out.
-- params: none     returns: the rows and the age of the last beat in seconds
SELECT id, name, host, pid, version, roles, workers, queues, queues_except, is_paused, paused_at, in_flight, memory_bytes, cpu_percent, started_at, beat_at, lease_until,
       CASE WHEN state IN ('active', 'draining') AND lease_until <= now() THEN 'lost' ELSE state END AS state,
       extract(epoch FROM now() - beat_at)::float8 AS beat_age_seconds
FROM windlass.node
WHERE beat_at > now() - interval '1 day' OR state IN ('active', 'draining')
ORDER BY (state IN ('active', 'draining')) DESC, started_at DESC
LIMIT 500
