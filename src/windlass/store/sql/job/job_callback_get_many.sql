-- job_callback_get_many: jobs as a receiver that completes them finds them, with what settling them needs.
-- params: id uuid[]
-- returns: as job_callback_overdue, and state, outcome, result, error; callback_until is NULL where nobody waits for the receiver,
-- callback_hash of a job that has ended is that of the token it waited for at last
-- Index: both primary keys, event_job.
SELECT j.id, j.attempt, j.claim_id, j.node_id, j.crashes, j.snoozes, j.max_attempts, j.kind, j.retry, j.queue, j.priority,
       j.created_at, j.started_at, j.callback_until, j.callback_hash,
       (SELECT e.data ->> 'detail' FROM windlass.event e
        WHERE e.job_id = j.id AND e.type = 'awaited' AND (e.data ->> 'attempt')::int4 = j.attempt LIMIT 1) AS detail,
       j.state, NULL AS outcome, NULL AS result, NULL AS error
FROM windlass.job j WHERE j.id = ANY ($1::uuid[])
UNION ALL
SELECT h.id, h.attempt, h.claim_id, h.node_id, h.crashes, h.snoozes, h.max_attempts, h.kind, h.retry, h.queue, h.priority,
       h.created_at, h.started_at, NULL, h.callback_hash, NULL, h.state, h.outcome, h.result::text, h.error::text
FROM windlass.job_history h WHERE h.id = ANY ($1::uuid[])
