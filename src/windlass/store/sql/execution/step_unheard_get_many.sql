-- step_unheard_get_many: jobs of executions that are to end, and have not been told.
-- params: execution_id uuid[], most int4     returns: id
-- Index: job_step. A compensation goes on when time was up: it runs because its execution was given up.
SELECT j.id FROM windlass.job j JOIN windlass.execution e ON e.id = ANY (ARRAY[j.execution_id])
WHERE j.execution_id = ANY ($1::uuid[]) AND j.cancel_requested_at IS NULL
  AND (e.cancel_requested_at IS NOT NULL OR e.doom IS NOT NULL AND j.step NOT LIKE '%~undo')
LIMIT $2
