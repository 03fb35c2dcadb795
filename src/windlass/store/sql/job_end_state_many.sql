-- job_end_state_many: which of these jobs have ended. For callers that wait.
-- params: id uuid[]     returns: id
-- Index: job_history primary key.
SELECT id FROM windlass.job_history WHERE id = ANY ($1::uuid[])
