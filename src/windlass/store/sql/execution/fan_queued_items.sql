-- fan_queued_items: items of stopped fan-outs that have not begun.
-- params: execution_id uuid[], step text[], most int4     returns: id
-- Index: job_step.
SELECT j.id
FROM unnest($1::uuid[], $2::text[]) AS g(execution_id, step)
JOIN windlass.job j ON j.execution_id = g.execution_id AND j.step = g.step AND j.item IS NOT NULL
WHERE j.state = 'queued'
LIMIT $3
FOR UPDATE OF j SKIP LOCKED
