-- job_end_state_many: which of these have ended: jobs, and executions. For callers that wait.
-- params: id uuid[]     returns: id
-- Index: job_history primary key, execution primary key. An id is of one kind only, so asking both answers for either.
SELECT id FROM windlass.job_history WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT id FROM windlass.execution WHERE id = ANY ($1::uuid[]) AND finished_at IS NOT NULL
