-- job_held_by_lost: running jobs whose node is no longer there, locked.
-- params: most int4, id uuid[] (only these; NULL: all)     returns: what settling them needs
-- Index: job_held joined with the few nodes. Any node may ask at any time; the fence makes doing it twice harmless. What
-- waits for its receiver needs no node. The order begins with the node, so that no plan goes by the primary key.
SELECT j.id, j.attempt, j.claim_id, j.node_id, j.crashes, j.snoozes, j.max_attempts, j.kind, j.retry, j.queue, j.priority,
       j.target, j.task, j.created_at, j.started_at
FROM windlass.job j
LEFT JOIN windlass.node n ON n.id = j.node_id
WHERE j.state = 'running' AND j.callback_until IS NULL AND (n.id IS NULL OR n.state IN ('lost', 'left'))
  AND ($2::uuid[] IS NULL OR j.id = ANY ($2))
ORDER BY j.node_id, j.id
LIMIT $1
FOR UPDATE OF j SKIP LOCKED
