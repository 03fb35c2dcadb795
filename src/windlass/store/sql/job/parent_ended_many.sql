-- parent_ended_many: which of these jobs have ended, and how.
-- params: id uuid[]     returns: id, state
-- Index: job_history primary key, one probe a partition.
SELECT id, state FROM windlass.job_history WHERE id = ANY ($1::uuid[])
