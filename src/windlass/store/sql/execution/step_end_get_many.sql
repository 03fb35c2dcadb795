-- step_end_get_many: how far steps of executions are.
-- params: execution_id uuid[], step text[], wants_result bool[], since timestamptz[] (when the execution was created)
-- returns: execution_id, step, id, state, result, error of every step that has its job; no items of fan-outs
-- Index: job_step, job_history_step. A job of an execution ended after the execution was made, so older partitions are left out.
SELECT g.execution_id, g.step, j.id, j.state, NULL::text AS result, NULL::text AS error
FROM unnest($1::uuid[], $2::text[]) AS g(execution_id, step)
JOIN windlass.job j ON j.execution_id = g.execution_id AND j.step = g.step AND j.item IS NULL
UNION ALL
SELECT g.execution_id, g.step, h.id, h.state, CASE WHEN g.wants_result THEN h.result::text END, h.error::text
FROM unnest($1::uuid[], $2::text[], $3::bool[], $4::timestamptz[]) AS g(execution_id, step, wants_result, since)
JOIN windlass.job_history h ON h.execution_id = g.execution_id AND h.step = g.step AND h.item IS NULL AND h.finished_at >= g.since
