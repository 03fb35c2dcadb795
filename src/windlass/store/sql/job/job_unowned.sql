-- job_unowned: running jobs that nobody runs: their node is unknown, or its lease ended long enough ago for a rescue.
-- params: grace float8 seconds, most int4     returns: id, node_id, started_at, node_state, lease_until
-- Index: job_held joined with the few nodes. What waits for its receiver needs no node.
SELECT j.id, j.node_id, j.started_at, n.state AS node_state, n.lease_until
FROM windlass.job j LEFT JOIN windlass.node n ON n.id = j.node_id
WHERE j.state = 'running' AND j.callback_until IS NULL
  AND coalesce(n.lease_until, '-infinity') < now() - $1 * interval '1 second'
ORDER BY j.id LIMIT $2
