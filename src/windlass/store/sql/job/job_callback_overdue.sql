-- job_callback_overdue: jobs whose receiver did not complete them in time, locked.
-- params: most int4, id uuid[] (only these; NULL: all)     returns: what settling them needs
-- Index: job_callback, event_job. Any node may ask at any time; the fence makes doing it twice harmless.
SELECT j.id, j.attempt, j.claim_id, j.node_id, j.crashes, j.snoozes, j.max_attempts, j.kind, j.retry, j.queue, j.priority,
       j.created_at, j.started_at, j.callback_until, j.callback_hash,
       (SELECT e.data ->> 'detail' FROM windlass.event e
        WHERE e.job_id = j.id AND e.type = 'awaited' AND (e.data ->> 'attempt')::int4 = j.attempt LIMIT 1) AS detail
FROM windlass.job j
WHERE j.callback_until <= now() AND ($2::uuid[] IS NULL OR j.id = ANY ($2))
ORDER BY j.callback_until
LIMIT $1
FOR UPDATE OF j SKIP LOCKED
