-- step_list: all steps of an execution that have their job, and compensations; no items of fan-outs.
-- params: execution_id uuid, since timestamptz (when it was created)
-- returns: step, state, is_foreseen, result (of switches alone: which way it went)
-- Index: job_step, job_history_step.
SELECT j.step, j.state, j.is_foreseen, NULL::text AS result
FROM windlass.job j WHERE j.execution_id = $1 AND j.item IS NULL
UNION ALL
SELECT h.step, h.state, h.is_foreseen, CASE h.kind WHEN 'switch' THEN h.result::text END
FROM windlass.job_history h WHERE h.execution_id = $1 AND h.item IS NULL AND h.finished_at >= $2
