-- step_waiting_for_signal: the step of an execution that waits for a signal longest.
-- params: execution_id uuid, name text     returns: id
-- Index: job_step.
SELECT id FROM windlass.job
WHERE execution_id = $1 AND kind = 'signal' AND CASE state WHEN 'running' THEN callback_until IS NOT NULL END AND input ->> 'name' = $2
ORDER BY started_at, id LIMIT 1
