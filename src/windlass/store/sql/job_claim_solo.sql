-- job_claim_solo: take one job on its last chance (two nodes died with it), wherever it is queued.
-- params: node_id uuid, claim_id uuid     returns: as job_claim_many
-- Index: job_solo, and job_held where a queue has a limit. Such jobs run one at a time on a node, so that the one that kills it takes no other suspect along.
UPDATE windlass.job j
SET state = 'running', attempt = attempt + 1, node_id = $1, claim_id = $2, started_at = clock_timestamp()
WHERE j.id = (
    SELECT s.id FROM windlass.job s JOIN windlass.queue q ON q.name = s.queue
    WHERE s.state = 'queued' AND s.crashes >= 2 AND s.parked_at IS NULL AND s.run_at <= clock_timestamp() AND NOT q.is_paused
      AND (s.deadline IS NULL OR s.deadline > now())
      AND (q.max_running IS NULL
           OR q.max_running > (SELECT count(*) FROM windlass.job r WHERE r.state = 'running' AND r.queue = q.name))
      AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $1 AND n.lease_until > now() AND n.state = 'active'
                  AND NOT n.is_paused)
    ORDER BY s.run_at LIMIT 1
    FOR UPDATE OF s, q SKIP LOCKED)
RETURNING j.id, j.queue, j.kind, j.priority, j.attempt, j.max_attempts, j.snoozes, j.crashes, j.run_at, j.created_at,
          j.started_at, j.timeout_ms, j.retry, j.correlation_id, j.trace_id, j.input, j.target, j.has_pass, j.execution_id
