-- execution_open_jobs: jobs of an execution that have not ended: steps before items, and what does not run first.
-- params: execution_id uuid, most int4     returns: id, step, item, kind, state
-- Index: job_step.
SELECT id, step, item, kind, state FROM windlass.job WHERE execution_id = $1
ORDER BY item IS NOT NULL, state = 'running' AND callback_until IS NULL, id LIMIT $2
