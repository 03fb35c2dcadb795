-- job_lock_solo: a job on its last chance (two nodes died with it) that may start, locked, with the row of its queue.
-- params: node_id uuid, queues text[], queues_except text[], kinds text[], tasks text[] (what the node serves and can perform;
--         NULL: anything)     returns: id, if there is one
-- Index: job_solo, and job_held where a queue has a limit. Whether its queue has room and a token left is asked here, so
-- that one that is full hides nobody behind it, and decided by job_claim_solo.
SELECT s.id FROM windlass.job s JOIN windlass.queue q ON q.name = s.queue
WHERE s.state = 'queued' AND s.crashes >= 2 AND s.parked_at IS NULL AND s.run_at <= clock_timestamp() AND NOT q.is_paused
  AND (s.deadline IS NULL OR s.deadline > now())
  AND windlass.serves($2, $3, s.queue)
  AND ($4::text[] IS NULL OR s.kind = ANY ($4)) AND (s.task IS NULL OR $5::text[] IS NULL OR s.task = ANY ($5))
  AND (q.max_running IS NULL
       OR q.max_running > (SELECT count(*) FROM windlass.job r WHERE r.state = 'running' AND r.node_id IS NOT NULL
                           AND r.callback_until IS NULL AND r.queue = q.name))
  AND (q.rate IS NULL OR q.rate_free_at < now() - interval '1 second'
       OR extract(epoch FROM now() - greatest(q.rate_free_at, now() - interval '1 second')) * q.rate >= 1)
  AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $1 AND n.lease_until > now() AND n.state = 'active'
              AND NOT n.is_paused)
ORDER BY s.run_at LIMIT 1
FOR UPDATE OF s, q SKIP LOCKED
