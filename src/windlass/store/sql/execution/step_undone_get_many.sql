-- step_undone_get_many: which steps are to be undone, the one that finished last first.
-- params: execution_id uuid, step text[] (those that have a compensation), suffix text
-- returns: step, result of those that succeeded and have no compensation yet
-- Index: job_step, job_history_step.
SELECT h.step, h.result::text AS result
FROM windlass.job_history h
WHERE h.execution_id = $1 AND h.step = ANY ($2::text[]) AND h.item IS NULL AND h.state = 'succeeded'
  AND NOT EXISTS (SELECT FROM windlass.job_history u WHERE u.execution_id = $1 AND u.step = h.step || $3)
  AND NOT EXISTS (SELECT FROM windlass.job u WHERE u.execution_id = $1 AND u.step = h.step || $3)
ORDER BY h.finished_at DESC, h.id DESC
